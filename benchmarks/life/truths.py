"""What facts must say of a day, and what is to be forgotten in the end."""

from benchmarks.life.lists import Forgotten, Period

DATES = (
    "2025-03-15",
    "2025-08-15",
    "2026-01-15",
    "2026-04-15",
    "2026-06-12",
    "2026-06-23",
    "2026-07-08",
    "2026-08-06",
    "2026-11-15",
    "2027-01-15",
)

PERIODS = (
    Period("home", "Linz", "2025-07-01", "2026-03-01"),
    Period("home", "Wels", "2026-03-05", "2026-06-29"),
    Period("home", "Salzburg", "2026-07-03", "2026-09-29"),
    Period("home", "Vienna", "2026-10-03", "2027-12-31"),
    Period("employer", "Siemens", "2024-02-01", "2026-06-29"),
    Period("employer", "Bosch", "2026-07-03", "2027-12-31"),
    Period("diet", "I am vegetarian", "2026-06-07", "2026-07-12"),
    Period("diet", "", "2026-07-16", "2027-12-31"),
    Period("editor", "vim", "2026-06-06", "2026-07-01"),
    Period("editor", "emacs", "2026-07-05", "2027-12-31"),
    Period("car", "Skoda Fabia", "2026-06-10", "2026-06-18"),
    Period("car", "Renault", "2026-07-01", "2027-12-31"),
    Period("gym", "climbing hall", "2026-06-10", "2026-08-29"),
    Period("gym", "", "2026-09-02", "2027-12-31"),
    Period("Lukas", "Berlin", "2024-06-01", "2026-06-13"),
    Period("Lukas", "Hamburg", "2026-06-17", "2027-12-31"),
    Period("Kaffee", "Morgen Kaffee", "2026-06-07", "2026-07-10"),
    Period("Kaffee", "", "2026-07-14", "2027-12-31"),
    Period("Spanisch", "Spanisch", "2026-10-02", "2027-12-31"),
    Period("Spanisch", "", "2025-01-01", "2026-08-30"),
    Period("Hausarzt", "Steiner", "2026-06-12", "2026-07-14"),
    Period("Hausarzt", "Pichler", "2026-07-18", "2027-12-31"),
    Period("Chor", "Kirchenchor singe|singe im Kirchenchor", "2026-06-21", "2026-07-15"),
    Period("Chor", "", "2026-07-19", "2027-12-31"),
)

FORGOTTEN = (
    Forgotten("toy", ("bartholomew", "purple elephant")),
    Forgotten("therapist", ("kleinschmidt", "panic attacks"), topic="Kleinschmidt"),
    Forgotten("insurance", ("hv-88213", "uniqa")),
    Forgotten("Cousine", ("seepferdchen", "verena"), topic="Verena"),
    Forgotten("Wein", ("loimer",)),
)
