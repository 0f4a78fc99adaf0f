"""A conversation in Chinese, Japanese or German is found as one in English is."""

import pytest

from tests.recalling import find, reply, say

TALKS = {  # what is told, the answer to it, and a question about it
    "Chinese": (
        ("我的妹妹叫小梅,住在成都", "成都的火锅很有名。", "我妹妹叫什么名字?"),
        ("我对花生过敏,不能吃花生酱", "好的,我会注意。", "我对什么过敏?"),
        ("下星期三下午三点我要看牙医", "记得带医保卡。", "什么时候看牙医?"),
        ("我们的狗叫豆豆,今年五岁了", "豆豆真可爱。", "狗几岁了?"),
        ("我在上海的一家银行工作,做会计", "会计工作很细致。", "我在哪里工作?"),
        ("去年夏天我们去云南旅行,看了玉龙雪山", "云南的风景很美。", "去年夏天去了哪里旅行?"),
        ("我把护照放在书房的蓝色盒子里", "这样不容易丢。", "护照在哪里?"),
        ("我最喜欢的书是《红楼梦》", "那是一部名著。", "我喜欢什么书?"),
    ),
    "Japanese": (
        ("妹の名前はさくらで、京都に住んでいます", "京都は素敵な町ですね。", "妹の名前は何ですか"),
        ("私はエビのアレルギーがあります", "気をつけます。", "何のアレルギーがありますか"),
        ("来週の水曜日に歯医者の予約があります", "保険証をお忘れなく。", "歯医者はいつですか"),
        ("うちの犬はポチという名前で、五歳です", "かわいいですね。", "犬は何歳ですか"),
        ("大阪の銀行で会計の仕事をしています", "大変なお仕事ですね。", "どこで仕事をしていますか"),
        ("去年の夏、北海道へ旅行に行きました", "涼しかったでしょう。", "去年の夏はどこへ旅行しましたか"),
        ("パスポートは青い箱の中にあります", "わかりました。", "パスポートはどこですか"),
        ("好きな本は「雪国」です", "川端康成の名作ですね。", "好きな本は何ですか"),
    ),
    "German": (
        ("Meine Schwester heißt Katrin und wohnt in Linz", "Linz liegt an der Donau.", "Wie heißt meine Schwester?"),
        ("Ich bin gegen Erdnüsse allergisch", "Darauf achte ich.", "Wogegen bin ich allergisch?"),
        ("Nächsten Mittwoch um drei muss ich zum Zahnarzt", "Denken Sie an die Karte.", "Wann muss ich zum Zahnarzt?"),
        ("Unser Hund heißt Bello und ist fünf Jahre alt", "Ein schönes Alter.", "Wie alt ist unser Hund?"),
        ("Ich arbeite als Buchhalter bei einer Bank in Graz", "Das klingt verantwortungsvoll.", "Wo arbeite ich?"),
        ("Letzten Sommer sind wir nach Rom gereist", "Rom ist schön.", "Wohin sind wir letzten Sommer gereist?"),
        ("Mein Reisepass liegt in der blauen Schachtel", "Gut zu wissen.", "Wo liegt mein Reisepass?"),
        ("Mein Lieblingsbuch ist der Zauberberg", "Ein großer Roman.", "Was ist mein Lieblingsbuch?"),
    ),
    "English": (
        ("My sister is called Karen and lives in Leeds", "Leeds is a lively city.", "What is my sister called?"),
        ("I am allergic to peanuts", "I will keep it in mind.", "What am I allergic to?"),
        ("Next Wednesday at three I must go to the dentist", "Take your card along.", "When must I go to the dentist?"),
        ("Our dog is called Rex and is five years old", "A good age.", "How old is our dog?"),
        ("I work as an accountant at a bank in York", "That sounds responsible.", "Where do I work?"),
        ("Last summer we travelled to Norway", "The fjords are beautiful.", "Where did we travel last summer?"),
        ("My passport lies in the blue box", "Good to know.", "Where is my passport?"),
        ("My favourite book is Middlemarch", "A great novel.", "What is my favourite book?"),
    ),
}
STRANGE = {
    "Chinese": "汽车的颜色是什么?",
    "Japanese": "車の色は何色ですか",
    "German": "Welche Farbe hat das Auto?",
    "English": "Which colour is the roof?",
}


@pytest.mark.parametrize("language", TALKS)
def test_what_was_told_is_found_first_in_any_language(db, session, language):
    for words, answer, _ in TALKS[language]:
        say(db, session, words)
        reply(db, session, answer)
    found = [find(db, question) for *_, question in TALKS[language]]
    assert [each.hits[0].text for each in found] == [words for words, *_ in TALKS[language]]
    assert "nothing" not in {each.verdict for each in found}
    assert find(db, STRANGE[language]).verdict == "nothing"
