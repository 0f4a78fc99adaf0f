"""What people say for a time, and when that is. One row is one sentence; the clock stands still."""

from datetime import UTC, datetime

import pytest

from agent_cli.errors import UsageError
from agent_cli.memory.dates import due_times, moments
from tests.tables import columns, for_each, listed

VIENNA, NEW_YORK, ADELAIDE = "Europe/Vienna", "America/New_York", "Australia/Adelaide"
FRIDAY = "2026-11-20T18:30:00+01:00"  # a Friday evening


def reckoned(words, now=FRIDAY, zone=VIENNA):
    """When it is, by the clocks of the zone."""
    occasion = due_times.parse(words, datetime.fromisoformat(now), zone)
    return occasion and f"{occasion.due:%a %Y-%m-%d %H:%M %z}"


def times(words, now, zone, count):
    """The first times of what repeats, as they come one after the other."""
    occasion = due_times.parse(words, datetime.fromisoformat(now), zone)
    rules, found = moments.get_zone(zone, occasion.due), [occasion.due]
    starts = occasion.starts
    while len(found) < count:
        following = moments.next_after(occasion.repeats, starts, rules, found[-1])
        found.append(following.moment)
        starts = following.wall.isoformat()
    return [f"{each.astimezone(rules):%a %d %b %H:%M %z}" for each in found]


@for_each(
    ("words", "when"),
    columns("""
        Friday 3pm → Fri 2026-11-27 15:00 | friday 20:00 → Fri 2026-11-20 20:00
        next friday 20:00 → Fri 2026-11-27 20:00 | fri → Fri 2026-11-27 09:00 | next fri 20:00 → Fri 2026-11-27 20:00
        on sat at 8am → Sat 2026-11-21 08:00 | in two hours → Fri 2026-11-20 20:30
        in half an hour → Fri 2026-11-20 19:00 | in 1 hour and 30 minutes → Fri 2026-11-20 20:00
        1 hour → Fri 2026-11-20 19:30 | 30 min → Fri 2026-11-20 19:00 | in 2.5 hours → Fri 2026-11-20 21:00
        in a couple of days → Sun 2026-11-22 09:00 | in 2 days at 8:00 → Sun 2026-11-22 08:00
        in 3 weeks → Fri 2026-12-11 09:00 | a week from now → Fri 2026-11-27 09:00 | tomorrow → Sat 2026-11-21 09:00
        tomorrow at noon → Sat 2026-11-21 12:00 | tomorrow 15 → Sat 2026-11-21 15:00
        tomorrow morning → Sat 2026-11-21 09:00 | tomorrow afternoon at 3 → Sat 2026-11-21 15:00
        day after tomorrow → Sun 2026-11-22 09:00 | tonight → Fri 2026-11-20 20:00
        tonight at 11 → Fri 2026-11-20 23:00 | tonight at midnight → Sat 2026-11-21 00:00
        this evening → Fri 2026-11-20 20:00 | today → Fri 2026-11-20 20:00
        sunday evening at 8 → Sun 2026-11-22 20:00 | next Tuesday → Tue 2026-11-24 09:00
        monday next week → Mon 2026-11-23 09:00 | next week → Mon 2026-11-23 09:00
        next month → Tue 2026-12-01 09:00 | at the weekend → Sat 2026-11-21 09:00 | 3pm → Sat 2026-11-21 15:00
        9:00 → Sat 2026-11-21 09:00 | 19:00 → Fri 2026-11-20 19:00 | at 3 → Sat 2026-11-21 15:00
        half past 3 → Sat 2026-11-21 15:30 | 12am → Sat 2026-11-21 00:00 | 24.12. 18:00 → Thu 2026-12-24 18:00
        2026-12-24 18:00 → Thu 2026-12-24 18:00 | 2026-12-24T18:00 → Thu 2026-12-24 18:00
        Dec 24th at 6pm → Thu 2026-12-24 18:00 | December 24, 2027 → Fri 2027-12-24 09:00
        3 May → Mon 2027-05-03 09:00 | 20 november 20:00 → Fri 2026-11-20 20:00 | 03/04 → Sat 2027-04-03 09:00
        12/24 → Thu 2026-12-24 09:00 | the 5th → Sat 2026-12-05 09:00 | 29 february → Tue 2028-02-29 09:00
        Freitag 15 Uhr → Fri 2026-11-27 15:00 | in zwei Stunden → Fri 2026-11-20 20:30
        in einer halben Stunde → Fri 2026-11-20 19:00 | morgen Mittag → Sat 2026-11-21 12:00
        übermorgen um 9 → Sun 2026-11-22 09:00 | heute Abend → Fri 2026-11-20 20:00
        nächsten Dienstag um 8 Uhr → Tue 2026-11-24 08:00 | am 24. Dezember um 18 Uhr → Thu 2026-12-24 18:00
        halb 4 → Sat 2026-11-21 15:30 | um halb drei → Sat 2026-11-21 14:30
        morgen um neun Uhr → Sat 2026-11-21 09:00 | tomorrow at nine → Sat 2026-11-21 09:00
        in 1h → Fri 2026-11-20 19:30 | in an hour and a half → Fri 2026-11-20 20:00
        1h30m → Fri 2026-11-20 20:00 | Friday 27 Nov 2026, 15:00 → Fri 2026-11-27 15:00
        Mittwoch, 2. Dezember um 8 Uhr → Wed 2026-12-02 08:00
        in two and a half hours → Fri 2026-11-20 21:00 | in anderthalb Stunden → Fri 2026-11-20 20:00
        Friday the 11th → Fri 2026-12-11 09:00 | on Friday, the 11th at 3pm → Fri 2026-12-11 15:00
        Friday 11th → Fri 2026-12-11 09:00 | next Friday the 27th → Fri 2026-11-27 09:00
        Freitag, dem 11. → Fri 2026-12-11 09:00 | am Freitag, den 11. um 15 Uhr → Fri 2026-12-11 15:00
        am Freitag, den 27. November um 8 → Fri 2026-11-27 08:00 | until the 24th → Tue 2026-11-24 09:00
        10 minutes before 8 pm → Fri 2026-11-20 19:50 | ten minutes past 8 → Sat 2026-11-21 08:10
        half an hour before 8 pm tomorrow → Sat 2026-11-21 19:30 | 10 Minuten vor 20 Uhr → Fri 2026-11-20 19:50
        1 hour and 10 minutes before midnight → Fri 2026-11-20 22:50 | 3 Tage vor dem 24.12. → Mon 2026-12-21 09:00
        eine Viertelstunde vor 20 Uhr morgen → Sat 2026-11-21 19:45 | a week before 24 December → Thu 2026-12-17 09:00
        Friday after next → Fri 2026-12-04 09:00 | übernächsten Montag um 8 → Mon 2026-11-30 08:00
        am 3. Dezember um 2 Uhr in der Nacht → Thu 2026-12-03 02:00 | Friday night at 1 → Fri 2026-11-27 01:00
        Friday at 15h → Fri 2026-11-27 15:00 | am Freitag um 15h30 → Fri 2026-11-27 15:30
        dreiviertel vier → Sat 2026-11-21 15:45 | viertel vor acht → Sat 2026-11-21 07:45
        viertel nach acht → Sat 2026-11-21 08:15 | viertel vier → Sat 2026-11-21 15:15
        at ten to eight → Sat 2026-11-21 07:50 | tomorrow at 20 past 3 → Sat 2026-11-21 15:20
        um zehn vor acht → Sat 2026-11-21 07:50 | at 5 to 8 pm → Fri 2026-11-20 19:55
        in 1 1/2 hours → Fri 2026-11-20 20:00 | in 1/2 hour → Fri 2026-11-20 19:00 | 3:30 p.m. → Sat 2026-11-21 15:30
        at nine pm → Fri 2026-11-20 21:00 | um neun am Montag → Mon 2026-11-23 09:00
        in two weeks' time → Fri 2026-12-04 09:00 | in a quarter of an hour → Fri 2026-11-20 18:45
        am Montagabend um 8 → Mon 2026-11-23 20:00 | heute Nacht um 1 → Sat 2026-11-21 01:00
        tonight at 1 → Sat 2026-11-21 01:00 | in 1,5 Stunden → Fri 2026-11-20 20:00 | at around 5 → Sat 2026-11-21 17:00
        in einer Dreiviertelstunde → Fri 2026-11-20 19:15 | in around two hours → Fri 2026-11-20 20:30"""),
)
def test_a_time_in_words_is_the_coming_one(words, when):
    assert reckoned(words) == f"{when} {'+0200' if when[9:11] in ('04', '05') else '+0100'}"


@for_each("words", ["sometime", "", "someday", "later", "irgendwann", "never"])
def test_a_vague_word_is_no_time(words):
    assert reckoned(words) is None


@for_each(
    ("words", "why"),
    columns("""
        yesterday → is past | every day at 8am and 8pm → “at 8am and 8pm” are two times: write one task for each
        every monday and every thursday at 8 → “every monday and every thursday” are two times
        on monday and thursday at 6pm → “on monday and thursday” are two times: write one task for each
        today at 9 → Friday 20 Nov 2026, 09:00 is past: name a time in the future
        2020-01-01 → Wednesday 1 Jan 2020, 09:00 is past: name a time in the future | 31 Feb → there is no 31 Feb
        on 31 february → there is no 31 february: name another day
        2 days ago → 2 days ago is past: name a time in the future | 31.2. → there is no 31.2.
        at 26 → 26 is not a time of day | 13pm → 13pm is not a time of day
        gibberish → 'gibberish' cannot be understood as a time | 5pm EST → cannot be understood as a time
        12-24 → cannot be understood as a time
        every monday until christmas → cannot be understood as a time | in 9999 years → is too far away
        31.12.9999 23:59 → too far away | every 31 february → February has no day 31 | every 0 days → is not possible
        every minute → is too often | Friday the 12th → 12 December 2026 is a Saturday: name another day
        Monday 27 November → 27 November 2026 is a Friday: name another day
        Montag, 27.11. → 27 November 2026 is a Friday: name another day
        half an hour before 7 pm today → Friday 20 Nov 2026, 18:30 is past: name a time in the future
        twice a day → “twice a day” are several times: write one task for each
        dreimal täglich um 8 → “dreimal täglich” are several times | 3x pro Woche → “3x pro Woche” are several times
        every day at 8, 13 and 20 → “at 8, 13 and 20” are several times | um 8 und 20 → “um 8 und 20” are
        every 4 hours until 7 pm → there is no such time to come | every day until 2020-01-01 → is past
        every hour until 5 pm → Friday 20 Nov 2026, 17:00 is past"""),
)
def test_what_is_past_or_never_is_refused_with_a_sentence(words, why):
    with pytest.raises(UsageError) as refused:
        reckoned(words, zone="America/New_York" if "9999" in words else VIENNA)
    assert why in str(refused.value)


@for_each(
    ("words", "rule", "first"),
    [
        ("every Monday 9:00", "FREQ=WEEKLY;BYDAY=MO", "2026-11-23T09:00:00"),
        ("every monday and thursday at 9", "FREQ=WEEKLY;BYDAY=MO,TH", "2026-11-23T09:00:00"),
        ("mondays at 8", "FREQ=WEEKLY;BYDAY=MO", "2026-11-23T08:00:00"),
        ("on Mondays and Thursdays at 7", "FREQ=WEEKLY;BYDAY=MO,TH", "2026-11-23T07:00:00"),
        ("montags und donnerstags um 7", "FREQ=WEEKLY;BYDAY=MO,TH", "2026-11-23T07:00:00"),
        ("on the 1st of every month", "FREQ=MONTHLY;BYMONTHDAY=1", "2026-12-01T09:00:00"),
        ("on the first Monday of every month", "FREQ=MONTHLY;BYDAY=1MO", "2026-12-07T09:00:00"),
        ("am 1. jedes Monats", "FREQ=MONTHLY;BYMONTHDAY=1", "2026-12-01T09:00:00"),
        ("every weekday at 8", "FREQ=WEEKLY;BYDAY=MO,TU,WE,TH,FR", "2026-11-23T08:00:00"),
        ("every weekend", "FREQ=WEEKLY;BYDAY=SA,SU", "2026-11-21T09:00:00"),
        ("every 2 weeks on friday", "FREQ=WEEKLY;INTERVAL=2;BYDAY=FR", "2026-11-27T09:00:00"),
        ("every second friday", "FREQ=WEEKLY;INTERVAL=2;BYDAY=FR", "2026-11-27T09:00:00"),
        ("every second friday of the month", "FREQ=MONTHLY;BYDAY=2FR", "2026-12-11T09:00:00"),
        ("every last friday 17:00", "FREQ=MONTHLY;BYDAY=-1FR", "2026-11-27T17:00:00"),
        ("daily at 7:30", "FREQ=DAILY", "2026-11-21T07:30:00"),
        ("every other day at 9pm", "FREQ=DAILY;INTERVAL=2", "2026-11-20T21:00:00"),
        ("every monday evening", "FREQ=WEEKLY;BYDAY=MO", "2026-11-23T18:00:00"),
        ("every morning", "FREQ=DAILY", "2026-11-21T09:00:00"),
        ("every evening at 7", "FREQ=DAILY", "2026-11-20T19:00:00"),
        ("every month on the 1st", "FREQ=MONTHLY;BYMONTHDAY=1", "2026-12-01T09:00:00"),
        ("every 1st of the month", "FREQ=MONTHLY;BYMONTHDAY=1", "2026-12-01T09:00:00"),
        ("every year on 24 December", "FREQ=YEARLY;BYMONTH=12;BYMONTHDAY=24", "2026-12-24T09:00:00"),
        ("jeden Montagabend", "FREQ=WEEKLY;BYDAY=MO", "2026-11-23T18:00:00"),
        ("every Friday night at 1", "FREQ=WEEKLY;BYDAY=FR", "2026-11-27T01:00:00"),
        ("every 29 February", "FREQ=YEARLY;BYMONTH=2;BYMONTHDAY=28,29;BYSETPOS=-1", "2027-02-28T09:00:00"),
        ("jeden Montag um 9", "FREQ=WEEKLY;BYDAY=MO", "2026-11-23T09:00:00"),
        ("jeden Werktag um 8 Uhr", "FREQ=WEEKLY;BYDAY=MO,TU,WE,TH,FR", "2026-11-23T08:00:00"),
        ("alle 2 Wochen am Freitag", "FREQ=WEEKLY;INTERVAL=2;BYDAY=FR", "2026-11-27T09:00:00"),
        ("jeden letzten Freitag 17:00", "FREQ=MONTHLY;BYDAY=-1FR", "2026-11-27T17:00:00"),
        ("täglich um 7:30", "FREQ=DAILY", "2026-11-21T07:30:00"),
        ("on the last day of each month at 9", "FREQ=MONTHLY;BYMONTHDAY=-1", "2026-11-30T09:00:00"),
        ("am 15. jeden Monats", "FREQ=MONTHLY;BYMONTHDAY=15", "2026-12-15T09:00:00"),
        ("every 3rd day", "FREQ=DAILY;INTERVAL=3", "2026-11-21T09:00:00"),
        ("on 5 May every year", "FREQ=YEARLY;BYMONTH=5;BYMONTHDAY=5", "2027-05-05T09:00:00"),
        ("on the first of every month", "FREQ=MONTHLY;BYMONTHDAY=1", "2026-12-01T09:00:00"),
        ("am ersten Tag jedes Monats", "FREQ=MONTHLY;BYMONTHDAY=1", "2026-12-01T09:00:00"),
        ("am letzten Tag jedes Monats", "FREQ=MONTHLY;BYMONTHDAY=-1", "2026-11-30T09:00:00"),
        ("every day until 5 December", "FREQ=DAILY;UNTIL=20261205T090000", "2026-11-21T09:00:00"),
        ("täglich bis Freitag", "FREQ=DAILY;UNTIL=20261127T090000", "2026-11-21T09:00:00"),
        ("every weekend at 8 until the 24th", "FREQ=WEEKLY;BYDAY=SA,SU;UNTIL=20261124T080000", "2026-11-21T08:00:00"),
        ("every Monday until Friday 27 November", "FREQ=WEEKLY;BYDAY=MO;UNTIL=20261127T090000", "2026-11-23T09:00:00"),
        ("jeden Montag bis Mittwoch um 8", "FREQ=WEEKLY;BYDAY=MO,TU,WE", "2026-11-23T08:00:00"),
        ("Saturdays to Mondays", "FREQ=WEEKLY;BYDAY=MO,SA,SU", "2026-11-21T09:00:00"),
        ("every day 10 minutes before 8 pm", "FREQ=DAILY", "2026-11-20T19:50:00"),
        ("once a week on Monday", "FREQ=WEEKLY;BYDAY=MO", "2026-11-23T09:00:00"),
        ("einmal am Tag", "FREQ=DAILY", "2026-11-21T09:00:00"),
        ("jedes Jahr am 24. Dezember", "FREQ=YEARLY;BYMONTH=12;BYMONTHDAY=24", "2026-12-24T09:00:00"),
    ],
)
def test_what_repeats_becomes_a_rule(words, rule, first):
    occasion = due_times.parse(words, datetime.fromisoformat(FRIDAY), VIENNA)
    assert (occasion.repeats, occasion.starts) == (rule, first)
    assert occasion.due == datetime.fromisoformat(first).replace(tzinfo=moments.get_zone(VIENNA, occasion.due))


@for_each(
    ("sentence", "words", "told"),
    [
        ("call the dentist tomorrow at 9", "call the dentist", "tomorrow at 9"),
        ("tomorrow call the dentist at 9", "call the dentist", "tomorrow at 9"),
        ("remind me to drink every 2h", "drink", "every 2h"),
        ("remind me to water the plants every 2 days at 18:00", "water the plants", "every 2 days at 18:00"),
        ("talk about friday's party on monday at noon", "talk about friday's party", "on monday at noon"),
        ("look at 3 flats tomorrow", "look at 3 flats", "tomorrow"),
        ("meet at 10 Downing Street friday 14:00", "meet at 10 Downing Street", "friday 14:00"),
        ("check the score 3:2 on sunday", "check the score 3:2", "on sunday"),
        ("send weekly report friday 16:00", "send weekly report", "friday 16:00"),
        ("Zahnarzt anrufen morgen um 9", "Zahnarzt anrufen", "morgen um 9"),
        ("Erinnere mich daran, dass Oma Geburtstag hat am 24.12.", "Oma Geburtstag hat", "am 24.12."),
        ("Guten Morgen sagen am Montag", "Guten Morgen sagen", "am Montag"),
        ("remind me to buy an apple tomorrow", "buy an apple", "tomorrow"),
        ("remind me at 8 to call mum", "call mum", "at 8"),
        ("erinnere mich gegen 8 an den Zahnarzt", "den Zahnarzt", "gegen 8"),
        ("Kannst du mich morgen daran erinnern, Brot zu kaufen?", "Brot kaufen?", "morgen"),
        ("Kannst du mich bitte um 8 an Eva erinnern?", "Eva?", "um 8"),
        ("erinnere mich morgen daran, Eva zu erinnern", "Eva erinnern", "morgen"),
        ("Morgen um 9 erinnere mich daran, Eva anzurufen", "Eva anrufen", "Morgen um 9"),
        ("Erinnere mich heute Abend daran, Salz hinzuzufügen", "Salz hinzufügen", "heute Abend"),
        ("Stell mir eine Erinnerung für morgen um 10: Eva anrufen", "Eva anrufen", "morgen um 10"),
        ("At 9 remind me to call Bob", "call Bob", "At 9"),
        ("set a reminder for tomorrow at 10: call Eve", "call Eve", "tomorrow at 10"),
        ("Can you set me a reminder to call Eve tomorrow at 10", "call Eve", "tomorrow at 10"),
        ("remind me in 10 minutes to turn off the oven", "turn off the oven", "in 10 minutes"),
        ("wake me at 7 tomorrow", "wake me", "at 7 tomorrow"),
        ("an apple tomorrow", "an apple", "tomorrow"),
        ("friday 3pm", "", "friday 3pm"),
        ("call mum tomorrow 9", "call mum", "tomorrow 9"),
        ("call mum tommorow at 9", "call mum", "tommorow at 9"),
        ("call the dentist fridya 3pm", "call the dentist", "friday 3pm"),
        ("Müll raus übermorgen um halb drei", "Müll raus", "übermorgen um halb drei"),
        ("call 2026-12-01T09:00", "call", "2026-12-01T 09:00"),
        ("call mum tomorrow, promised yesterday", "call mum, promised yesterday", "tomorrow"),
        ("talk to the two about yesterday tomorrow at 9", "talk to the two about yesterday", "tomorrow at 9"),
        ("look at 3 flats friday 20 times", "look at 3 flats 20 times", "friday"),
        ("tomorrow at 9:00 prepare the 14:00 presentation", "prepare the 14:00 presentation", "tomorrow at 9:00"),
        ("call Bob at 10am tomorrow about the 3pm meeting", "call Bob about the 3pm meeting", "at 10am tomorrow"),
        ("remind me at 9am to prepare the 2pm talk", "prepare the 2pm talk", "at 9am"),
        ("remind me tomorrow at 9am to prepare the 2pm talk", "prepare the 2pm talk", "tomorrow at 9am"),
        ("remind me tomorrow to prepare the Friday 9am talk", "prepare the Friday 9am talk", "tomorrow"),
        ("remind me at 9 tomorrow to plan the Friday meeting", "plan the Friday meeting", "at 9 tomorrow"),
        ("call Bob tomorrow about the Friday meeting", "call Bob about the Friday meeting", "tomorrow"),
        ("remind me on Monday to book the Friday train", "book the Friday train", "on Monday"),
        ("morgen um 9 das Paket vom Freitag abholen", "das Paket vom Freitag abholen", "morgen um 9"),
        ("erinnere mich morgen um 9 Uhr an den Termin um 14 Uhr", "den Termin um 14 Uhr", "morgen um 9 Uhr"),
        ("prepare the 2pm presentation tomorrow at 9am", "prepare the 2pm presentation", "tomorrow at 9am"),
        ("remind me 10 minutes before the 3pm meeting", "meeting", "10 minutes before the 3pm"),
        ("remind me every day to take a pill until Friday", "take a pill", "every day until Friday"),
        ("erinnere mich täglich bis Freitag daran, Eva anzurufen", "Eva anrufen", "täglich bis Freitag"),
        ("jeden Tag den Bericht bis Montag abgeben", "den Bericht bis Montag abgeben", "jeden Tag"),
        ("in two hours ask Bob to stay until Friday", "ask Bob to stay until Friday", "in two hours"),
        ("remind me daily to pay", "pay", "daily"),
        ("erinnere mich monatlich am 15. an die Miete", "die Miete", "monatlich am 15."),
        ("remind me to pay by tomorrow", "pay", "by tomorrow"),
        ("remind me at 8, 2 eggs to buy", "2 eggs to buy", "at 8"),
    ],
)
def test_a_time_is_found_within_a_sentence(sentence, words, told):
    left, occasion = due_times.find(sentence, datetime.fromisoformat(FRIDAY), VIENNA)
    assert (left, occasion.words) == (words, told)


@for_each(
    ("sentence", "words", "when"),
    columns("""
        remind me two days before the party on Friday → party → Wed 2026-11-25 09:00
        remind me half an hour before the call tomorrow at 8 → call → Sat 2026-11-21 07:30
        erinnere mich zwei Stunden vor dem Termin um 15 Uhr → Termin → Sat 2026-11-21 13:00"""),
)
def test_a_time_before_something_is_as_much_before_the_time_of_that(sentence, words, when):
    left, occasion = due_times.find(sentence, datetime.fromisoformat(FRIDAY), VIENNA)
    assert (left, f"{occasion.due:%a %Y-%m-%d %H:%M}") == (words, when)


@for_each(
    "sentence",
    listed("""call mum yesterday 3pm | call mum at 3pm yesterday | call last friday at 9 | call mum yesterday
        call mum the day before yesterday! | call mum yesterday evening | call mum on last friday
        call mum two hours ago | send the report last week | call mum this morning | call mum earlier today
        Mama anrufen gestern Abend | Mama vorgestern anrufen um 9 gestern | Mama anrufen letzten Freitag
        Mama anrufen vor zwei Stunden | remind me yesterday to sleep | Yesterday remind me to sleep"""),
)
def test_a_time_that_is_past_is_refused_within_a_sentence(sentence):
    with pytest.raises(UsageError, match="is past: name a time in the future"):
        due_times.find(sentence, datetime.fromisoformat(FRIDAY), VIENNA)


@for_each(
    ("sentence", "meant"),
    [("call mum next wensday", "wednesday"), ("call mum thurday 3pm", "thursday"), ("am donerstag", "donnerstag")],
)
def test_a_day_that_cannot_be_read_is_refused_with_the_one_that_was_meant(sentence, meant):
    with pytest.raises(UsageError, match=f"is no day of the week; did you mean {meant}\\?"):
        due_times.find(sentence, datetime.fromisoformat(FRIDAY), VIENNA)


@for_each("sentence", ["tomorrow", "remind me tomorrow", "remind me to tomorrow", "to friday 3pm"])
def test_of_a_time_alone_nothing_is_left_to_do(sentence):
    assert due_times.find(sentence, datetime.fromisoformat(FRIDAY), VIENNA)[0] == ""


@for_each(
    "sentence",
    listed("""buy milk | buy 3 | send yesterday's report | ask about yesterday | pay the bill from last week
        ask Tom what happened yesterday | finish what I began 2 days ago | die Mail von gestern
        fragen was gestern war | buy a card for the holiday | Feiertag eintragen | send the weekly report
        sit in the sun | read may be the book | good morning call | two days before the party bake a cake"""),
)
def test_a_sentence_without_a_time_stays_as_it_is(sentence):
    assert due_times.find(sentence, datetime.fromisoformat(FRIDAY), VIENNA) == (sentence, None)


@for_each(
    ("now", "zone", "words", "when"),
    [
        # The clock's offset is that of the moment; the rules are the zone's.
        ("2026-03-28T20:00:00+01:00", VIENNA, "tomorrow at 9", "Sun 2026-03-29 09:00 +0200"),
        ("2026-10-24T20:00:00+02:00", VIENNA, "tomorrow at 9", "Sun 2026-10-25 09:00 +0100"),
        ("2026-03-07T20:00:00-05:00", NEW_YORK, "tomorrow at 9", "Sun 2026-03-08 09:00 -0400"),
        ("2026-10-03T20:00:00+09:30", ADELAIDE, "tomorrow at 9", "Sun 2026-10-04 09:00 +1030"),
        # Hours are true ones.
        ("2026-03-28T23:00:00+01:00", VIENNA, "in 4 hours", "Sun 2026-03-29 04:00 +0200"),
        ("2026-10-25T01:30:00+02:00", VIENNA, "in 2 hours", "Sun 2026-10-25 02:30 +0100"),
        ("2026-11-01T00:30:00-04:00", NEW_YORK, "in 2 hours", "Sun 2026-11-01 01:30 -0500"),
        # Left out in spring: as much later as the clocks leap. Twice in autumn: the first.
        ("2026-03-28T20:00:00+01:00", VIENNA, "tomorrow at 2:30", "Sun 2026-03-29 03:30 +0200"),
        ("2026-10-24T20:00:00+02:00", VIENNA, "tomorrow at 2:30", "Sun 2026-10-25 02:30 +0200"),
        ("2026-03-07T20:00:00-05:00", NEW_YORK, "tomorrow at 2:30", "Sun 2026-03-08 03:30 -0400"),
        ("2026-10-31T20:00:00-04:00", NEW_YORK, "tomorrow at 1:30", "Sun 2026-11-01 01:30 -0400"),
        ("2026-10-03T20:00:00+09:30", ADELAIDE, "tomorrow at 2:30", "Sun 2026-10-04 03:30 +1030"),
        # A present moment told with another offset than the zone's.
        ("2026-03-28T19:00:00+00:00", VIENNA, "tomorrow at 9", "Sun 2026-03-29 09:00 +0200"),
        # No name of a zone: the offset of the present.
        ("2026-03-28T20:00:00+01:00", "", "tomorrow at 9", "Sun 2026-03-29 09:00 +0100"),
    ],
)
def test_the_clocks_of_the_zone_decide(now, zone, words, when):
    assert reckoned(words, now, zone) == when


def test_what_repeats_keeps_its_time_on_the_wall_when_the_clocks_change():
    assert times("every day at 9:00", "2026-03-27T12:00:00+01:00", VIENNA, 3) == [
        "Sat 28 Mar 09:00 +0100",
        "Sun 29 Mar 09:00 +0200",
        "Mon 30 Mar 09:00 +0200",
    ]
    assert times("every sunday 2:30", "2026-03-20T12:00:00+01:00", VIENNA, 3) == [
        "Sun 22 Mar 02:30 +0100",
        "Sun 29 Mar 03:30 +0200",
        "Sun 05 Apr 02:30 +0200",
    ]
    assert times("every day 1:30", "2026-10-31T12:00:00-04:00", NEW_YORK, 3) == [
        "Sun 01 Nov 01:30 -0400",
        "Mon 02 Nov 01:30 -0500",
        "Tue 03 Nov 01:30 -0500",
    ]


def test_every_hour_is_a_true_hour_up_to_the_end_on_the_clocks_of_the_zone():
    assert times("every hour", "2026-10-25T00:30:00+02:00", VIENNA, 4) == listed("""Sun 25 Oct 01:30 +0200
        Sun 25 Oct 02:30 +0200 | Sun 25 Oct 02:30 +0100 | Sun 25 Oct 03:30 +0100""")
    occasion = due_times.parse("every 4 hours until Sunday", datetime.fromisoformat(FRIDAY), VIENNA)
    assert occasion.repeats == "FREQ=HOURLY;INTERVAL=4;UNTIL=20261122T225900"
    last = datetime.fromisoformat("2026-11-22T22:30:00+01:00")
    assert moments.next_after(occasion.repeats, occasion.starts, moments.get_zone(VIENNA, last), last) is None


def test_every_other_week_keeps_its_weeks_and_the_31st_is_the_last_of_a_short_month():
    assert times("every 2 weeks on friday", FRIDAY, VIENNA, 3) == [
        "Fri 27 Nov 09:00 +0100",
        "Fri 11 Dec 09:00 +0100",
        "Fri 25 Dec 09:00 +0100",
    ]
    assert times("every month on the 31st", "2027-01-15T12:00:00+01:00", VIENNA, 3) == [
        "Sun 31 Jan 09:00 +0100",
        "Sun 28 Feb 09:00 +0100",
        "Wed 31 Mar 09:00 +0200",
    ]


def test_with_slashes_the_month_comes_first_where_the_locale_says_so(monkeypatch):
    monkeypatch.setenv("LC_ALL", "en_US.UTF-8")
    assert reckoned("03/04") == "Thu 2027-03-04 09:00 +0100"
    monkeypatch.setenv("LC_ALL", "de_AT.UTF-8")
    assert reckoned("03/04") == "Sat 2027-04-03 09:00 +0200"


@for_each(
    ("words", "when"),
    columns("""
        2026-12-24T18:00:00+01:00 → Thu 2026-12-24 18:00 +0100 | 2026-12-24T18:00:00Z → Thu 2026-12-24 19:00 +0100
        2026-12-24T18:00:00-05:00 → Fri 2026-12-25 00:00 +0100 | 20:00 UTC → Fri 2026-11-20 21:00 +0100
        tomorrow at 5pm GMT → Sat 2026-11-21 18:00 +0100
    """),
)
def test_a_time_of_another_zone_comes_when_it_is_that_time_there(words, when):
    assert reckoned(words) == when


def test_without_a_name_of_a_zone_the_offset_of_the_present_counts():
    now = datetime(2026, 1, 1, tzinfo=UTC)
    assert (moments.get_zone("", now), moments.get_zone("Nowhere/At_All", now)) == (UTC, UTC)


@for_each("piece", ["3pm ", "in 1 ", "24.12. 18:00 ", "every x ", "1"])
def test_words_for_a_time_that_have_no_end_are_refused_at_once(piece):
    with pytest.raises(UsageError, match="too long for a time"):
        reckoned(piece * 20_000)
