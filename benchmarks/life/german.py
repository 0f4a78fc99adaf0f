"""What is told in German and how it is asked for, as people type."""

from benchmarks.life.lists import Thing, note, stands, typed

THINGS = (
    Thing(
        "Impfpass",
        [note(2, "Der Impfpass liegt in der Blechdose im Vorzimmer", "Blechdose")],
        "wo ist der Impfpass? / impfpass wo / wo liegt mein impfpass / weißt du wo der Impfpass ist / wo hab ich "
        "den Impfpass hingetan",
        "wo is der impfpas / ~wo ist das heft mit den impfungen",
        "Der Impfpass liegt im Schreibtisch.",
    ),
    Thing(
        "Mülltonne",
        [typed(4, "Merk dir bitte, dass die gelbe Tonne jeden zweiten Donnerstag geleert wird", "zweiten Donnerstag")],
        "wann wird die gelbe Tonne geleert? / gelbe tonne wann / an welchem Tag kommt die gelbe Tonne / wann muss "
        "die gelbe tonne raus",
        "wann kommt die müllabfuhr für die gelbe tone / ~plastikmüll abholung wann",
        "Die gelbe Tonne wird montags geleert.",
    ),
    Thing(
        "Kaffee",
        [
            typed(
                5, "merk dir, dass ich jeden Morgen Kaffee trinke", "Morgen Kaffee", "Du trinkst jeden Morgen Kaffee."
            ),
            typed(42, "Ich trinke keinen Kaffee mehr", "keinen Kaffee mehr", "Du trinkst keinen Kaffee mehr."),
        ],
        "trinke ich Kaffee? / was ist mit mir und kaffee / trink ich noch kaffee / Kaffee am Morgen, ja oder nein?",
        "trinke ich kafee / soll ich mir in der früh einen kaffee machen",
        "Du trinkst abends Tee.",
    ),
    Thing(
        "Bruder",
        [typed(3, "Mein Bruder heißt Lukas", "heißt Lukas", "Dein Bruder heißt Lukas.")],
        "wie heißt mein Bruder? / name von meinem bruder / wie heisst mein bruder nochmal / mein Bruder heißt wie?",
        "wie heist mein bruder / wie war der name meines bruders",
        "Dein Bruder heißt Stefan.",
    ),
    Thing(
        "Laktose",
        [typed(6, "Lukas verträgt keine Laktose", "keine Laktose", "Lukas verträgt keine Laktose.")],
        "was verträgt Lukas nicht? / verträgt lukas laktose / Lukas und Laktose, wie war das / Darf Lukas Laktose "
        "essen",
        "Was koche ich für Lukas? / lukas kommt zum frühstück, was darf nicht auf den tisch / was darf mein "
        "Bruder nicht essen? / kann ich meinem bruder ein eis mitbringen",
        "Lukas verträgt kein Gluten.",
    ),
    Thing(
        "Lukas",
        [
            typed(7, "merk dir, dass Lukas seit 2024 in Berlin wohnt", "Berlin", "Lukas wohnt in Berlin."),
            typed(35, "Lukas ist am 15. Juni 2026 nach Hamburg gezogen", "Hamburg", "Lukas wohnt in Hamburg."),
        ],
        "wo wohnt Lukas? / in welcher Stadt wohnt Lukas / wohin ist Lukas gezogen / wo lebt lukas jetzt",
        "in welcher stadt lebt mein bruder / wo wont lukas",
        "Lukas wohnt in München.",
    ),
    Thing(
        "Katze",
        [typed(8, "Unsere Katze Mimi bekommt abends eine halbe Tablette gegen die Schilddrüse", "halbe Tablette")],
        "was bekommt Mimi abends? / wie viele tabletten bekommt die Katze / Tablette für Mimi / wann kriegt die "
        "katze ihre tablette",
        "~medikament der katze? / wieviel von der tablete kriegt mimi",
        "Mimi bekommt zwei Tabletten.",
    ),
    Thing(
        "Schlüssel",
        [typed(9, "Der Ersatzschlüssel ist bei Frau Wimmer im Erdgeschoß", "Wimmer")],
        "bei wem ist der Ersatzschlüssel? / wo ist der ersatzschlüssel / Ersatzschlüssel / wer hat unseren "
        "ersatzschlüssel",
        "hab mich ausgesperrt, wer hat einen schlüssel / wo ist der ersatzschlüsel",
        "Der Ersatzschlüssel liegt unter der Matte.",
    ),
    Thing(
        "Heizung",
        [
            stands(
                11,
                "heizung.md",
                "# Heizung\n\nDer Kessel wird bei 1,4 bar gehalten; unter 1,0 bar muss Wasser nachgefüllt werden.",
                "1,4 bar",
            )
        ],
        "bei wie viel bar wird der Kessel gehalten? / kessel druck bar / ab wann muss beim Kessel Wasser "
        "nachgefüllt werden / wie viel bar braucht der kessel",
        "druck der heizung? / kesel bar?",
        "Der Kessel braucht 3 bar.",
    ),
    Thing(
        "Garage",
        [note(12, "Garagentor: Code 7730, danach die Raute drücken", "7730")],
        "was ist der Code vom Garagentor? / garagentor code / wie geht das garagentor auf / Code Garagentor bitte",
        "~wie komm ich in die garage / garagntor kode",
        "Der Code ist 0000.",
    ),
    Thing(
        "Spanisch",
        [
            typed(
                14,
                "ab September 2026 lerne ich Spanisch an der Volkshochschule",
                "Spanisch",
                "Ab September 2026 lernst du Spanisch.",
            )
        ],
        "ab wann lerne ich Spanisch? / wo lerne ich spanisch / wann fängt Spanisch an / Spanisch an der "
        "Volkshochschule ab wann",
        "~welche sprache lerne ich im herbst / wann beginnt der spanischkurs",
        "Du lernst Spanisch seit Jänner.",
    ),
    Thing(
        "Hausarzt",
        [
            typed(10, "merk dir, dass mein Hausarzt Dr. Steiner ist", "Steiner", "Dein Hausarzt ist Dr. Steiner."),
            typed(
                46,
                "Mein Hausarzt ist jetzt Dr. Pichler, Dr. Steiner ist in Pension",
                "Pichler",
                "Dein Hausarzt ist Dr. Pichler.",
            ),
        ],
        "wer ist mein Hausarzt? / wie heißt mein Hausarzt / name vom hausarzt / zu welchem hausarzt gehe ich",
        "~wie heißt mein doktor / hausartz?",
        "Dein Hausarzt ist Dr. Berger.",
    ),
    Thing(
        "Reifen",
        [typed(13, "Die Winterreifen lagern beim Autohaus Prinz, Platz 58", "Prinz")],
        "wo lagern die Winterreifen? / winterreifen wo / auf welchem Platz sind die Winterreifen / bei welchem "
        "autohaus sind die winterreifen",
        "wo sind meine reifen für den winter / winterreiffen lager",
        "Die Winterreifen liegen im Keller.",
    ),
    Thing(
        "Hochzeitstag",
        [typed(15, "Vergiss nicht, dass unser Hochzeitstag am 9. Mai ist", "9. Mai|09 May|9 May|2027-05-09")],
        "wann ist unser Hochzeitstag? / hochzeitstag / an welchem Tag ist der Hochzeitstag / hochzeitstag datum?",
        "~wann haben wir geheiratet / hochzeitstg wann",
        "Euer Hochzeitstag ist am 3. Juli.",
    ),
    Thing(
        "Kinderarzt",
        [note(16, "Kinderärztin: Dr. Amsel, Telefon 0316 44 55 1", "44 55 1")],
        "Telefonnummer der Kinderärztin? / wie heißt die kinderärztin / kinderärztin telefon / nummer von der "
        "Kinderärztin",
        "~das kind hat fieber, wen ruf ich an / kinderartzt nummer",
        "Die Nummer ist 0664 123456.",
    ),
    Thing(
        "Wein",
        [typed(17, "Der Riesling vom Weingut Loimer hat uns am besten geschmeckt", "Loimer")],
        "welcher Riesling hat uns am besten geschmeckt? / von welchem Weingut war der Riesling / riesling / der "
        "beste riesling war von wem",
        "~welchen weißwein mochten wir / risling wie hieß der",
        "Euch schmeckte der Riesling von Müller.",
    ),
    Thing(
        "Allergie",
        [typed(18, "merk dir: ich bin gegen Penicillin allergisch", "Penicillin")],
        "wogegen bin ich allergisch? / bin ich gegen penicillin allergisch / allergisch gegen was? / Penicillin, "
        "bin ich da allergisch",
        "~welches antibiotikum darf ich nicht nehmen / alergie bei mir?",
        "Du bist gegen Bienen allergisch.",
    ),
    Thing(
        "Parkplatz",
        [
            typed(20, "merk dir, dass ich auf Ebene 3 geparkt habe", "Ebene 3", "Du parkst auf Ebene 3."),
            typed(45, "ich habe jetzt auf Ebene 5 geparkt, nicht mehr auf 3", "Ebene 5", "Du parkst auf Ebene 5."),
        ],
        "auf welcher Ebene habe ich geparkt? / wo hab ich geparkt / welche ebene geparkt / geparkt auf ebene?",
        "~wo steht mein auto / wo hab ich gepakt",
        "Du parkst auf Ebene 1.",
    ),
    Thing(
        "Steuer",
        [typed(21, "Unsere Steuerberaterin ist Frau Magister Hofer in Graz", "Hofer")],
        "wer ist unsere Steuerberaterin? / steuerberaterin name / wie heißt die steuerberaterin / in welcher "
        "stadt ist unsere Steuerberaterin",
        "wer macht uns die steuer / steurberaterin?",
        "Eure Steuerberaterin ist Frau Gruber.",
    ),
    Thing(
        "Chor",
        [
            typed(
                19,
                "merk dir, dass ich im Kirchenchor singe",
                "Kirchenchor singe|singe im Kirchenchor",
                "Du singst im Kirchenchor.",
            ),
            typed(
                47,
                "Ich singe nicht mehr im Kirchenchor",
                "nicht mehr im Kirchenchor",
                "Du singst nicht mehr im Kirchenchor.",
            ),
        ],
        "singe ich im Kirchenchor? / sing ich noch im kirchenchor / Kirchenchor, bin ich da noch dabei?",
        "in welchem chor bin ich / ~sing ich irgendwo",
        "Du spielst im Orchester.",
    ),
    Thing(
        "Geschenk",
        [note(23, "Geschenk für Mama: die Lesebrille aus Horn, 129 Euro bei Optik Aigner", "Aigner")],
        "was schenke ich Mama? / geschenk für mama / was war das Geschenk für Mama / bei welchem optiker ist das "
        "geschenk für mama",
        "~was kriegt meine mutter zum geburtstag / geschänk mama",
        "Du schenkst Mama einen Schal.",
    ),
    Thing(
        "Kontrakt",
        [
            stands(
                24,
                "mietvertrag.txt",
                "Mietvertrag\n\nDie Kündigungsfrist beträgt drei Monate, jeweils zum Monatsende, "
                "die Kaution 3.600 Euro.",
                "drei Monate",
            )
        ],
        "wie lang ist die Kündigungsfrist? / kündigungsfrist mietvertrag / wie hoch ist die Kaution / kaution?",
        "wie lange vorher muss ich die wohnung kündigen / kündigungsfirst",
        "Die Kündigungsfrist beträgt ein Jahr.",
    ),
    Thing(
        "Cousine",
        [typed(27, "Meine Cousine Verena hat ein Tattoo von einem Seepferdchen", "Seepferdchen")],
        "was für ein Tattoo hat Verena? / welches tattoo hat meine cousine / tattoo von Verena",
        "was hat sich verena stechen lassen / tatoo verena",
        "Verena hat eine Rose.",
    ),
)
