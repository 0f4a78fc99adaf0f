"""What is told in English and how it is asked for, as people type."""

from benchmarks.life.lists import Thing, note, stands, typed

THINGS = (
    Thing(
        "passport",
        [note(2, "The passport lies in the blue folder in the attic", "blue folder")],
        "where is my passport? / where did I put the passport / wheres the passport again / passport?? / which "
        "folder is my passport in / do you know where my passport is / is the passport still in the attic?",
        "were is my pasport / ~i fly on friday, where did i put my travel documents",
        "Your passport is in the kitchen drawer.",
    ),
    Thing(
        "blood type",
        [typed(3, "remember that my blood type is B negative", "B negative")],
        "what's my blood type? / my blood type / which blood type do I have / tell me my blood type please / do i "
        "have a rare blood type?",
        "whats my blodd type / doctor asks which blood group i am",
        "Your blood type is 0 positive.",
    ),
    Thing(
        "locker",
        [typed(4, "note that my locker at the pool is number 217", "217")],
        "which locker is mine at the pool? / locker number? / what was the number of my locker / pool locker / my "
        "locker at the pool, which one was it",
        "wich loker do i have / ~number of my cabinet where we swim",
        "Your locker is number 91.",
    ),
    Thing(
        "home",
        [
            typed(1, "remember that I have lived in Wels since 3 March 2026", "Wels", "You live in Wels."),
            typed(6, "by the way, I moved to Linz in June 2025", "Linz", "You live in Linz.", current=False),
            typed(38, "I moved to Salzburg on 1 July 2026", "Salzburg", "You live in Salzburg."),
            typed(52, "I will move to Vienna on 1 October 2026", "Vienna", "You move to Vienna.", current=False),
        ],
        "where do I live? / which city do I live in / in which town do i live now / where am I living these days "
        "/ where do i live atm / do you remember where I live?",
        "wher do i live / ~what's my home town right now / which city should the parcel go to, i mean my home",
        "You live in Bregenz.",
    ),
    Thing(
        "home before",
        [typed(6, "", "Linz", "You moved to Linz in June 2025.")],
        "when did I move to Linz? / since when was I in Linz / in which month did I move to Linz?",
        "what year did i go to linz",
        "You moved to Linz in 2019.",
    ),
    Thing(
        "employer",
        [
            typed(3, "remember that I have worked at Siemens since January 2024", "Siemens", "You work at Siemens."),
            typed(36, "I work at Bosch since 1 July 2026", "Bosch", "You work at Bosch."),
        ],
        "where do I work? / who do I work for / which company do i work at now / where do i work these days",
        "~who is my employer / ~what do i put as employer on the form",
        "You work at Magna.",
    ),
    Thing(
        "diet",
        [
            typed(5, "remember that I am vegetarian", "I am vegetarian", "You are vegetarian."),
            typed(
                44, "I'm not vegetarian any more", "not vegetarian|longer vegetarian", "You are no longer vegetarian."
            ),
        ],
        "am I vegetarian? / am i still vegetarian / I forgot, vegetarian or not? / is it true that I'm vegetarian",
        "am i a vegetarien / so do i eat as a vegetarian these days",
        "You are vegan.",
    ),
    Thing(
        "editor",
        [
            typed(4, "remember that I use vim as my editor", "vim", "You use vim."),
            typed(33, "I use emacs as my editor now", "emacs", "You use emacs."),
        ],
        "which editor do I use? / what's my editor / what editor am I using now / my editor is which one again?",
        "wich editor do i use / what program do i edit text with",
        "You use nano.",
    ),
    Thing(
        "car",
        [
            typed(8, "remember that I drive a Skoda Fabia", "Skoda", "You drive a Skoda."),
            typed(
                27, "I sold the Skoda on 20 June 2026, I drive a Renault Zoe now", "Renault", "You drive a Renault Zoe."
            ),
        ],
        "which car do I drive? / what do I drive / what car am i driving now / what kind of car do I drive",
        "wich car do i have / the garage wants to know the make of my car",
        "You drive a Fiat Panda.",
    ),
    Thing(
        "phone plan",
        [
            note(9, "Phone plan: 12 GB, costs 14.90 a month with Spusu", "Spusu"),
            note(40, "Phone plan: changed to HoT, 9.90 a month, 40 GB", "HoT, 9.90"),
        ],
        "what does my phone plan cost? / which phone plan do I have / how many GB does my phone plan have / phone "
        "plan price",
        "how much do i pay for the mobile plan / whats my fone plan",
        "Your phone plan costs 25 euros.",
    ),
    Thing(
        "gym",
        [
            typed(
                7,
                "remember that I have a membership at the climbing hall until the end of August 2026",
                "climbing hall",
            )
        ],
        "until when is my membership at the climbing hall? / climbing hall membership / when does the climbing "
        "hall membership end / is my climbing membership still running",
        "climbing hal, how long am i paid up / do i still have a membership for climbing",
        "Your membership ends in May 2027.",
    ),
    Thing(
        "sister",
        [typed(2, "My sister is called Anna", "called Anna", "Your sister is called Anna.")],
        "what's my sister called? / what is the name of my sister / my sister's name? / how is my sister called again",
        "whats my sistr called / ~name of my sibling?",
        "Your sister is called Maria.",
    ),
    Thing(
        "nuts",
        [typed(3, "Anna is allergic to nuts", "allergic to nuts", "Anna is allergic to nuts.")],
        "what is Anna allergic to? / which allergy does Anna have / anna allergic? / does Anna have an allergy to "
        "nuts / what was that with anna and nuts",
        "What should I cook tonight for Anna? / Anna comes for dinner, what must I leave out / what must my "
        "sister not eat? / can I bake a hazelnut cake for my sister / a dessert for Anna please",
        "Anna is allergic to milk.",
    ),
    Thing(
        "husband of sister",
        [typed(11, "Anna is married to Jonas, he is a beekeeper", "beekeeper", "Jonas is a beekeeper.")],
        "what does Jonas do? / who is Anna married to / who is Jonas / is jonas a beekeeper",
        "what's the job of my sister's husband / who could sell me honey, jonas?",
        "Jonas is a plumber.",
    ),
    Thing(
        "wife",
        [typed(5, "Please remember my wife's name is Eva", "name is Eva", "Your wife is called Eva.")],
        "what's my wife's name? / name of my wife / my wife is called? / what is my wife called",
        "~how is my spouse called / whats my wifes name",
        "Your wife is called Petra.",
    ),
    Thing(
        "olives",
        [typed(6, "Can you remember that I hate olives?", "hate olives", "You hate olives.")],
        "do I like olives? / which food do i hate / olives, do i hate them? / what do I think of olives",
        "can we order the greek salad with olives for me / do i liek olives",
        "You love olives.",
    ),
    Thing(
        "bike lock",
        [typed(8, "note that the code of the bike lock is 4182", "4182")],
        "code of the bike lock? / what's the bike lock code / bike lock / how do I open the bike lock, which code",
        "wats the code for the bike lok / combination of my bicycle lock",
        "The code is 1234.",
    ),
    Thing(
        "boiler",
        [
            stands(
                10,
                "house.md",
                "# House\n\nThe boiler was serviced by Huber in May 2026; the next service is due in May 2028.",
                "Huber",
            )
        ],
        "who serviced the boiler? / when is the next service of the boiler due / boiler service / when was the "
        "boiler serviced",
        "who did the boilr service / whom do i call for the heating boiler",
        "The boiler was serviced by Mayer.",
    ),
    Thing(
        "wifi",
        [
            stands(
                10,
                "guests.md",
                "# For guests\n\nThe wifi for guests is called Fuchsbau-Gast, on the upper floor.",
                "Fuchsbau",
            )
        ],
        "how is the wifi for guests called? / guest wifi name / what's the name of the wifi for guests / wifi "
        "for guests please",
        "whats the gest wifi called / ~the visitors want to go online, which network",
        "The wifi is called Home-24.",
    ),
    Thing(
        "recipe",
        [
            stands(
                15,
                "bread.md",
                "# Bread\n\nMy rye bread takes 480 g of flour, 350 ml of water and 12 g of salt; "
                "it bakes 55 minutes at 210 degrees.",
                "480 g",
            )
        ],
        "how much flour goes into my rye bread? / how long does my rye bread bake / rye bread salt how much / at "
        "how many degrees does the rye bread bake",
        "my bred recipe, how much flower / amount of water for the loaf of rye",
        "It takes 1 kg of flour.",
    ),
    Thing(
        "dentist",
        [note(12, "Dentist appointment with Dr. Novak on 14 September 2026 at 8:30", "Novak")],
        "when is my dentist appointment? / who is my dentist / dentist when / at what time is the dentist in september",
        "~when do i have to go get my teeth checked / dentst appointment?",
        "Your dentist appointment is on 2 December.",
    ),
    Thing(
        "boat",
        [typed(13, "Our boat lies in the harbour of Vrsar, berth 36", "Vrsar", "Your boat lies in Vrsar, berth 36.")],
        "where does our boat lie? / which berth has the boat / boat berth number / in which harbour is our boat",
        "were is the boat / where did we leave the yacht, i mean the boat",
        "Your boat lies in Pula.",
    ),
    Thing(
        "ladder",
        [typed(14, "I lent the long ladder to Mr. Kovac on the second floor", "Kovac", "Mr. Kovac has the ladder.")],
        "who has my ladder? / to whom did I lend the ladder / where is the long ladder / did I lend the ladder to "
        "someone",
        "who borrowed my ladder / wheres my lader",
        "The ladder is in the cellar.",
    ),
    Thing(
        "shoe size",
        [typed(16, "remember: my shoe size is 43 and a half", "43 and a half")],
        "what's my shoe size? / shoe size / which size are my shoes / what shoe size do i take",
        "what size of sneakers do i need / my sho size",
        "Your shoe size is 41.",
    ),
    Thing(
        "insurance",
        [note(17, "Household insurance is with Uniqa, policy number HV-88213", "88213")],
        "what's the policy number of my household insurance? / household insurance with whom / which insurance do "
        "we have for the household / insurance policy number",
        "insurence number for the flat / the pipe burst, what's the number of my policy",
        "Your insurance is with Allianz.",
    ),
    Thing(
        "plants",
        [typed(18, "The orchid gets water only every ten days", "every ten days", "Water it every ten days.")],
        "how often does the orchid get water? / when does the orchid need water / orchid water / how many days "
        "between watering the orchid",
        "how often do i water the orkid / care of the flower on the sill, the orchid",
        "Water it every day.",
    ),
    Thing(
        "book club",
        [
            typed(
                19,
                "My book club meets on the first Tuesday of the month at Clara's",
                "first Tuesday",
                "It meets on the first Tuesday.",
            )
        ],
        "when does my book club meet? / book club day / at whose place is the book club / where does the book "
        "club meet",
        "wen is the bookclub / when do we talk about the novel, the club i mean",
        "Your book club meets on Fridays.",
    ),
    Thing(
        "thesis",
        [typed(21, "don't forget that my thesis is due on 30 November 2026", "thesis is due")],
        "when is my thesis due? / thesis deadline / until when must I hand in my thesis / due date of the thesis",
        "wen do i hand in the thesis / deadline for my final paper at uni",
        "Your thesis is due in March.",
    ),
    Thing(
        "backup disk",
        [
            typed(
                22,
                "The backup disk is in the drawer under the printer",
                "under the printer",
                "It is in the drawer under the printer.",
            )
        ],
        "where is the backup disk? / backup disk / where did I put the disk with the backup / which drawer is the "
        "backup disk in",
        "where's the drive with the backups / bakup disk where",
        "The backup disk is in the safe.",
    ),
    Thing(
        "coffee order",
        [typed(24, "remember that Eva drinks her coffee with oat milk", "oat milk")],
        "how does Eva drink her coffee? / what milk does eva take / does Eva drink coffee with milk / coffee for "
        "eva how",
        "I'm at the cafe, what do I order for my wife / how does my wife like her cofee",
        "Eva drinks it black.",
    ),
    Thing(
        "toy",
        [typed(25, "remember that my purple elephant was called Bartholomew", "Bartholomew")],
        "what was my purple elephant called? / what was the name of the elephant / who was Bartholomew / my "
        "elephant's name",
        "the stuffed animal i had, bartolomew or so? / how was the purple elefant called",
        "It was called Jumbo.",
    ),
    Thing(
        "therapist",
        [
            typed(
                26,
                "I see Dr. Kleinschmidt about my panic attacks every other Monday",
                "Kleinschmidt",
                "You see Dr. Kleinschmidt.",
            )
        ],
        "who do I see about my panic attacks? / which day do I see Dr. Kleinschmidt / panic attacks, which doctor "
        "/ when is Kleinschmidt",
        "name of my terapist / who helps me with the panic",
        "You see Dr. Wagner.",
    ),
)
