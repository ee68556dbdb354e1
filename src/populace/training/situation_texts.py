"""The words of made-up situations: what one can choose, how it is told, and how strongly each word counts."""

PAIRS = tuple(
    tuple(pair.split("/"))
    for pair in """
tea/coffee|soup/salad|rice/noodles|apples/pears|bread/porridge|red/white|black/yellow|orange/purple|brown/pink|white/grey
yellow/red|purple/black|silver/gold|pink/white|red/black|stairs/lift|bus/tram|train/ferry|bicycle/scooter|north/south
left/right|east/west|river path/forest path|old road/new road|morning/evening|Monday/Tuesday|June/July|cash/card
pen/pencil|paper/screen|chalk/marker|stamps/coins|cats/dogs|roses/tulips|oak/pine|lake/beach|hills/valley|football/tennis|chess/cards
violin/piano|jazz/opera|novel/poems|film/theatre|radio/newspaper|hat/cap|boots/sandals|scarf/gloves|wool/cotton
leather/canvas|square/round|tall/short|plain/striped|spotted/checked|salt/pepper|honey/jam|butter/cheese|milk/juice|water/lemonade
fish/beans|pizza/pasta|cake/biscuits|plums/cherries|garlic/onion|tent/cabin|window seat/aisle seat|north door/south door
first room/second room|long table/small table|wooden chair/metal chair|blue ink/black ink|green tea/white tea
town hall/library|blue/red|green/white|blue/yellow|green/black|blue/orange|green/purple|brown/blue|grey/green|pink/blue
red/green|blue/white|green/yellow|black/blue|orange/green|blue/grey|green/brown|purple/blue|pink/green|turquoise/blue
olive/green|red/orange|grey/black|gold/white|violet/yellow|beige/red|brown/grey|purple/pink|silver/black|white/orange
summer/winter|spring/autumn|mug/glass|fork/spoon|jacket/coat|jeans/shorts|early shift/late shift|garden/balcony
sofa/armchair|candles/lamps|maps/photos|flute/drums|waltz/tango|rowing/sailing|climbing/running|mustard/ketchup
""".replace("\n", "|")
    .strip("|")
    .split("|")
)

SETTINGS = (
    "You belong to a choir with {n} other singers. For each rehearsal everybody picks {a} or {b}.",
    "You share a building with {n} neighbours. Every week each household decides between {a} and {b}.",
    "You are a member of a club with {n} other members. At every meeting members choose {a} or {b}.",
    "You study in a course with {n} other students and would like to do well. Each day everybody takes {a} or {b}.",
    "You work on a farm with {n} others. You like your work. Every day each of you decides for {a} or {b}.",
    "You live in a village. There are {n} other families. Both {a} and {b} are good enough.",
    "You travel in a group with {n} other people. At each stop one may have {a} or {b}, and both cost the same.",
    "",
)

WHO = (
    "people", "members", "neighbours", "students", "colleagues", "guests", "players", "visitors", "others", "singers",
)  # fmt: skip

COUNT_SENTENCES = (
    "Last time {k} of {n} {who} chose {a} and {m} chose {b}.",
    "{k} out of {n} {who} took {a}; the other {m} took {b}.",
    "This week {k} {who} went for {a} and {m} for {b}.",
    "Of the {n} {who}, {k} had {a} and {m} had {b} the day before.",
    "{p} % of the {who} prefer {a}, {q} % prefer {b}.",
    "You saw that {k} of the {n} {who} picked {a} and that {m} picked {b}.",
    "Among {n} {who} there were {k} with {a} and {m} with {b} yesterday.",
    "{a}: {k} {who}. {b}: {m} {who}.",
    "Yesterday {k} of the {n} {who} used {a} and {m} used {b}.",
)

OWN_SENTENCES = (
    "The last time you chose {x} yourself.",
    "You had {x} yesterday.",
    "Before, you took {x}.",
    "Yesterday you picked {x}.",
    "So far you have used {x}.",
)

PICK_QUESTIONS = (
    "Which do you choose today?",
    "What do you take this time?",
    "Which one do you pick?",
    "What will you have today?",
    "Which of the two do you use today?",
    "What is your choice?",
)

CONFORMITY = {
    "extremely conformist": 2.2,
    "very conformist": 1.9,
    "highly conformist": 1.7,
    "conformist": 1.3,
    "fairly conformist": 1.1,
    "slightly conformist": 0.7,
    "low conformist": 0.45,
    "hardly conformist": 0.3,
    "non-conformist": 0.1,
    "independent-minded": 0.25,
    "headstrong": 0.2,
    "impressionable": 1.8,
    "easily led": 1.9,
    "sociable": 1.2,
    "quiet": 1.0,
}

GOODS = (
    "a melon", "a bag of oranges", "a wool blanket", "a desk lamp", "a teapot", "a pair of gloves", "a box of pencils",
    "a cinema ticket", "a jar of honey", "a kitchen knife", "a garden chair", "a backpack", "a bunch of flowers",
    "a bottle of shampoo", "a bicycle pump", "a chocolate bar", "a train ticket", "a notebook", "a rain jacket",
    "a board game", "a frying pan", "a pillow", "a carton of eggs", "a bag of nuts", "an umbrella", "a wall clock",
    "a set of towels", "a toothbrush", "a loaf of rye bread", "a ball",
)  # fmt: skip

GROCERIES = (
    ("rolled oats", "750 g"), ("dried figs", "400 g"), ("sea salt", "1 kg"), ("sunflower oil", "1 l"),
    ("lentils", "500 g"), ("crispbread", "250 g"), ("mango chutney", "200 g"), ("paprika powder", "50 g"),
    ("peppermint tea", "25 bags"), ("cocoa powder", "250 g"), ("dishwashing tabs", "40 pieces"),
    ("vinegar", "0.5 l"), ("pumpkin seeds", "150 g"), ("couscous", "500 g"), ("tomato paste", "6 tubes"),
    ("napkins", "100 pieces"), ("cat litter", "10 l"), ("raisins", "300 g"), ("soy sauce", "150 ml"),
    ("sponges", "pack of 5"), ("matches", "10 boxes"), ("hand cream", "75 ml"), ("rye flour", "1 kg"),
)  # fmt: skip

SHOPPING_SENTENCES = (
    "You walk through a market hall and notice {good} ({size}). It was {u} a week ago. The label says {p}.",
    "{Good} ({size}). Earlier price: {u}. Price today: {p}.",
    "While you buy food for the week you pass {good}, {size}. You remember a price of {u}. Today it is {p}.",
    "On your list there is {good}, {size}. The tag reads {p}. When you bought it before, you paid {u}.",
    "In a web shop you find {good}, {size}, for {p}. In the past it was sold there at {u}.",
    "The shop sells {good} in packs of {size}. It was {u} at your last visit. It is {p} now.",
    "You come to the shelf with {good}, {size}. When you were here last, it cost {u}. The price is now {p}.",
    "You do your shopping and see {good} ({size}). It used to cost {u}. Its price is {p}.",
    "{Good}, {size}: the price is {p}. Until last month it was {u}.",
    "In the shop you find this: {good}, {size}. Last week you would have paid {u}. You would pay {p} now.",
    "{Good} ({size}) costs {p} here. You paid {u} for the same thing some weeks ago.",
    "You look for {good}, {size}. What it cost in spring: {u}. What it costs: {p}.",
    "You pass a display: {good}, {size}. Some days ago its price was {u}. The price is {p}.",
    "The price of {good} ({size}) is {p}. On your last visit the price was {u}.",
    "In the store you stop at {good}, {size}. The former price was {u}. The price is {p}.",
    "You are on your round through the shop. Here is {good}: {size}. It cost {u} the other day. The price is {p}.",
    "You meet this in a grocery: {good}, {size}. The price is {p}. The price that you remember is {u}.",
    "This offer is on a shelf of the grocer: {good}, {size}. Some time ago one paid {u} for it. Now one pays {p}.",
)

PRICE_SENTENCES = (
    "In a shop you see {good} for {p} {c}. Its usual price is {u} {c}.",
    "{Good} normally costs {u} {c}. Today it costs {p} {c}.",
    "You think about buying {good}. You know that it is {u} {c} as a rule, and here it is {p} {c}.",
    "The price of {good} is {p} {c}. The regular price is {u} {c}.",
    "{Good} is offered at {p} {c} instead of the ordinary {u} {c}.",
    "You could use {good}. The seller asks {p} {c}; elsewhere one pays {u} {c}.",
)

THRIFT = {
    "thrifty": 1.5, "frugal": 1.6, "wealthy": 0.6, "poor": 1.5, "generous": 0.8, "careful": 1.2, "wasteful": 0.6,
    "stingy": 1.6,
}  # fmt: skip

SYMPTOMS = (
    ("You feel well.", -2.2), ("You are in good health.", -2.2), ("You feel as usual.", -2.2),
    ("You feel fine today.", -2.2), ("You feel all right.", -2.2), ("You are a bit tired.", -1.3),
    ("Your nose runs a little.", -0.8),
    ("Your throat hurts slightly.", -0.3), ("You cough now and then.", 0.0), ("You have a cold.", 0.3),
    ("You cough a lot.", 0.7), ("Your head and limbs ache.", 1.0), ("You have a high temperature.", 1.9),
    ("You are feverish and weak.", 2.0), ("You have a temperature and your chest hurts.", 2.2),
    ("You shiver with fever.", 2.2),
)  # fmt: skip

ERRANDS = (
    "You live in a small town by the sea and earn your money as a carpenter.",
    "You have a job that you like and need.",
    "You live in a city district where everybody knows everybody.",
    "You planned to meet friends today.",
    "Your work is waiting, and you are paid by the day.",
    "You are fond of your village, and there is always something to do.",
)

NEWS_SENTENCES = (
    "The radio reports that {p} % of the inhabitants fell ill with an infection yesterday.",
    "According to the health office {p} % of the people here have a new virus.",
    "The paper writes that {p} % of the residents were infected this week.",
    "On television one hears that a contagious illness has reached {p} % of the population.",
    "Officials say that {p} % of the townspeople became sick the day before.",
)

ILLNESS_QUESTIONS = (
    ("Do you leave the house today?", ("yes", "no"), False),
    ("Do you go out today?", ("yes", "no"), False),
    ("Do you remain in your home today?", ("yes", "no"), True),
    ("Do you keep to your home for the day?", ("yes", "no"), True),
    ("Do you spend the day indoors?", ("yes", "no"), True),
    ("Do you go to work?", ("yes", "no"), False),
    ("Do you cancel your plans and rest at home?", ("yes", "no"), True),
    ("What do you do today?", ("stay in", "go out"), True),
)

ADJECTIVES = (
    ("generous", "selfish", "A stranger at the door collects money for a shelter.", "Do you give something?"),
    ("honest", "dishonest", "The cashier gave you too much change, and nobody noticed.", "Do you return it?"),
    ("brave", "fearful", "A dog stands growling between you and a lost child.", "Do you walk up to the child?"),
    ("curious", "incurious", "A locked box with a key beside it was left on a bench.", "Do you look inside?"),
    ("outgoing", "reserved", "You are invited to a dinner where you know nobody.", "Do you accept?"),
    ("diligent", "lazy", "Your group needs somebody to take the extra shift.", "Do you take it?"),
    ("kind", "unkind", "An old man struggles with his shopping on the stairs.", "Do you help him?"),
    ("daring", "cautious", "You may stake 20 coins on the roll of a die: with luck you get 45.", "Do you play?"),
    ("patient", "impatient", "You can have 100 coins now, or 140 in three months.", "Do you wait for the 140?"),
    ("talkative", "silent", "Somebody sits down beside you on the ferry.", "Do you begin a conversation?"),
    ("trusting", "suspicious", "A man whom you met an hour ago asks to borrow your bicycle.", "Do you lend it?"),
    ("tidy", "untidy", "Your desk is full of old papers, and nobody will see it.", "Do you clear it now?"),
    ("imaginative", "conventional", "Someone proposes a strange new way to decorate the hall.", "Do you support it?"),
    ("anxious", "calm", "The boat rocks more than usual on the way.", "Do you ask to turn back?"),
)

PLACES = (
    "a concert in the next valley", "the swimming pool", "a friend's new flat", "the weekly market", "an exhibition",
    "a lecture", "the mountain hut", "a flea market", "the botanical garden",
)  # fmt: skip
