"""All else that is said: small talk, questions about the world with long answers, questions about what nobody told."""

from benchmarks.life.lists import phrases

SMALL_TALK = phrases(
    "hello / hello again / hi / hi there / hey / good morning / good evening / morning! / thanks / thank you! / thx "
    "/ ok thanks / great, thank you / perfect / cool / ok / haha / lol nice / how are you? / how's it going / good "
    "night / bye / see you tomorrow / that was helpful, thanks / you're the best / never mind / yes / no / hallo / "
    "hallo nochmal / guten morgen / guten Abend / servus / grüß dich / danke / danke dir! / vielen dank / super, "
    "danke / passt / ok danke / alles klar / gute nacht / bis morgen / tschüss / wie geht's? / na, wie läufts / ja "
    "/ nein / egal / hm"
)

PLEASANT = phrases(
    "Hello! How can I help? / You're welcome! / Good to hear. / Hallo! Was kann ich tun? / Gern geschehen!"
)

ACKNOWLEDGED = phrases("Noted. / All right. / I see. / Verstanden. / Alles klar.")

UNKNOWN = phrases(
    "I do not know that. / I don't know, you have not told me. / Sorry, I have no information about that. / Das "
    "weiß ich leider nicht. / Dazu habe ich keine Information. / I'm not sure, could you tell me?"
)

WORLD = phrases(
    "how long does it take to renew a passport? / how does a bike lock work / explain how wifi works / tips for "
    "growing orchids / what is a good rye bread / how do vegetarians get enough iron / why do people love olives / "
    "tell me about the history of coffee / how often should a boiler be serviced in general? / what should one look "
    "for when buying an electric car / was macht einen guten Riesling aus? / wie funktioniert ein Garagentor / "
    "erklär mir die Kündigungsfristen allgemein / wie lange halten Winterreifen / warum vertragen manche Menschen "
    "keine Laktose / write a poem about the sea"
)

NEVER = phrases(
    "what's my blood pressure? / when is my flight to Lisbon? / what's the PIN of my bank card / which school did I "
    "go to / what's my father's birthday / how much do I weigh? / which streaming services do we pay for / what's "
    "my favourite film / when did I last see the optician / who painted the picture in our hall / what's the name "
    "of our neighbour's dog / how tall am I? / what's my tax number / which yoga class do I take / where did we "
    "spend Christmas / my lucky number? / what's the plate number of the caravan / which piano teacher did we "
    "choose / what does the rowing machine weigh / wann ist Omas Namenstag? / welches Waschmittel nehmen wir / wie "
    "heißt mein Chef / wo ist die Bohrmaschine / wie groß ist der Garten / wann war der Rauchfangkehrer da / welche "
    "Farbe hat das Wohnzimmer / was kostet der Kindergarten / wie heißt unser Nachbar oben / wann läuft mein "
    "Führerschein ab / wie viele Bienenstöcke haben wir"
)

NEAR = phrases(
    "what's Anna's shoe size? / when is Eva's birthday? / how old is the boiler / what did the boat cost / what "
    "colour is my car / who is my wife's dentist / where did Jonas learn / how many pages has my thesis / wann hat "
    "Lukas Geburtstag? / wie alt ist Mimi / was kostet der Hausarzt / wie viele Winterreifen habe ich"
)
"""About what was told of, but nobody told this: `perhaps` is right too."""

PARAGRAPHS = (
    "A passport is usually renewed within a few weeks. Some offices are faster, others want an appointment first. "
    "Keep the old passport until the new one has come, because its number is asked for in many forms, and travel "
    "with a copy of it.",
    "Coffee came to Europe by way of Venice. In Vienna the first coffee houses opened at the end of the seventeenth "
    "century, and since then the coffee is served with a glass of water. Milk was added later, oat milk only in the "
    "last few years.",
    "A router sends the wifi on two bands. A password protects it; for guests a network of its own is best, with a "
    "password that can be changed when they have gone. Old devices see the slower band alone, so leave both of them "
    "switched on.",
    "Orchids want light without sun and water only now and then. Most of them die of too much water. Put the pot "
    "into a bowl for a quarter of an hour, let it drain, and wait until the roots have turned silver again before "
    "you repeat it.",
    "An electric car is judged by its battery. What counts is how far it drives in winter, how fast it charges, and "
    "where you park and live. A used car is cheaper to insure; have the garage read out the state of the battery "
    "before you buy.",
    "Rye bread needs sourdough, patience and a hot oven. The dough sticks to everything, so wet your hands. Let it "
    "rest for a day after baking, then cut it. With more salt it keeps longer, and with more water its crumb "
    "becomes moist.",
    "Der Druck eines Kessels sinkt mit der Zeit. Wer selbst Wasser nachfüllt, entlüftet danach die Heizkörper. "
    "Einmal im Jahr soll jemand vom Fach kommen, den Brenner reinigen und das Abgas messen; das steht auch in den "
    "meisten Verträgen.",
    "Winterreifen halten etwa sechs Jahre. Man lagert sie kühl und dunkel, am besten mit den Felgen und liegend. "
    "Die Tiefe des Profils soll vier Millimeter nicht unterschreiten. Viele Autohäuser lagern die Reifen für wenig "
    "Geld ein.",
    "Ein guter Riesling lebt von der Säure. Er wächst gern auf Schiefer und auf Urgestein, braucht einen langen "
    "Herbst und schmeckt jung nach Pfirsich. Wer keine Laktose verträgt, muss auf Wein nicht verzichten, wohl aber "
    "auf manchen Käse.",
    "A lock is only as good as what it is tied to. Choose one that weighs a tenth of the bicycle, change its code "
    "once a year, and never use a birthday. For a garage door the same is true, and for the locker at the pool or "
    "in the gym.",
)
