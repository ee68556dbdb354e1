"""The words of made-up questions to which nobody's answer is known: opinions, habits, purchases, votes and plans.

Only their variety counts: what a person says to them is not stated anywhere.
"""

SUBJECTS = tuple(
    """
libraries|street musicians|nuclear power|organic farming|space travel|public transport|zoos|tourism|homework|lotteries
video games|art museums|the national team|private schools|wind turbines|farm subsidies|speed limits|night trains
online shopping|foreign films|genetic tests|robots|beekeeping|modern architecture|school uniforms|car-free Sundays
hunting|gambling|fast food|holiday homes|public swimming pools|local newspapers|trade unions|large companies|banks
small shops|the postal service|the courts|the army|scientists|doctors|teachers|journalists|farmers|bus drivers
political parties|the city council|international treaties|customs duties|exports|imports|foreign investment
mobile phones at school|short videos|group chats|data collection|advertising|paper money|electronic votes
old age homes|parental leave|military service|vaccination|dentists|health insurance|herbal medicine|sports clubs
weddings|funerals|churches|folk music|classical concerts|poetry|dance|theatres|festivals|fireworks|carnival
neighbours|strangers|immigrants|tourists|young people|old people|politicians|artists|experts|the rich|the poor
""".replace("\n", "|")
    .strip("|")
    .split("|")
)

OPINION_STEMS = (
    "What do you think about {x}?",
    "How do you feel about {x}?",
    "Here is a statement: {x} are good for our country. What do you say?",
    "People differ in how much they care about {x}. How important is this to you?",
    "Some people are worried about {x}. How worried are you?",
    "Would you say that there should be more or less money for {x}?",
    "In ten years, do you expect that matters will be better or worse as regards {x}?",
    "How much do you trust what is said about {x}?",
    "How interested are you in {x}?",
    "In your opinion, how well does this country deal with {x}?",
    "Are you for or against new rules on {x}?",
    "How much do you know about {x}?",
    "Thinking about {x}: who should decide, people themselves or the state?",
    "How proud or ashamed does it make you when you hear about {x}?",
    "How likely is it that your children will care about {x}?",
)

SCALES = tuple(
    tuple(each.split("/"))
    for each in """
strongly agree/agree/disagree/strongly disagree
agree/disagree
agree strongly/agree/neither agree nor disagree/disagree/disagree strongly
very important/fairly important/not very important/not important at all
yes/no
yes/no/no opinion
more/the same/less
much more/a little more/as now/a little less/much less
better/worse
better/about the same/worse
a lot/some/a little/nothing
very much/much/somewhat/hardly/not at all
always/often/sometimes/rarely/never
in favour/against
in favour/undecided/against
good/bad
excellent/good/fair/poor
high/medium/low
very worried/somewhat worried/not worried
a great deal/only some/hardly any
likely/unlikely
very likely/fairly likely/fairly unlikely/very unlikely
true/false
definitely true/probably true/probably not true/definitely not true
positive/negative/mixed
too much/about right/too little
improves/stays/declines
the state/people themselves
help/harm/make no difference
very interested/interested/not interested
proud/ashamed/neither
none/one/two/three or more
""".strip().splitlines()
)

ACTIVITIES = tuple(
    """
visit a museum|sing in a choir|read a novel|send a postcard|ride a bicycle|go fishing|bake bread|repair something
listen to the radio|take a taxi|go to the dentist|donate blood|swim in a lake|write a diary|play cards|paint a picture
go to a concert|watch a live match|use a translation program|post a picture|follow the news online|chat with strangers
climb a mountain|drive too fast|skip breakfast|borrow money|buy a lottery ticket|smoke a pipe|drink wine with dinner
sign a petition|march in a demonstration|write to a newspaper|attend a meeting of the town|pray|meditate|fast
wear a seat belt|wear a life jacket|use sun cream|see a doctor|take vitamins|do gymnastics|sleep too little
lend a book|feed a neighbour's cat|give up a seat|give to a beggar|plant a tree|sort rubbish|fly to another country
""".replace("\n", "|")
    .strip("|")
    .split("|")
)

HABIT_STEMS = (
    ("How often do you {x}?", ("every day", "every week", "every month", "less often", "never")),
    ("How often do you {x}?", ("often", "sometimes", "never")),
    ("Did you {x} in the last twelve months?", ("yes", "no")),
    ("Have you ever had the chance to {x}?", ("yes", "no")),
    ("Do you {x}?", ("yes", "no", "sometimes")),
    ("On how many days of last week did you {x}?", ("none", "one or two", "three to five", "six or seven")),
    ("Do you intend to {x} this year?", ("certainly", "perhaps", "no")),
    ("With whom do you usually {x}?", ("alone", "with friends", "with family", "with colleagues")),
    ("When did you last {x}?", ("today", "this week", "this month", "this year", "earlier", "never")),
)

BRANDS = tuple(
    "Alder Bellamy Corvo Dunmore Elkin Farrow Galloway Hartwell Ingram Juniper Kestrel Larkin Morrow Norfell Oakley "
    "Pembrook Quill Rowan Sable Tamsin Underhill Vesper Wexley Yarrow".split()
)

PRODUCTS = tuple(
    """
jar of mustard|bottle of sauce|tin of soup|pack of noodles|box of tea|washing powder|toothpaste|mobile contract
garden hose|pair of socks|yoghurt|breakfast cereal|dog food|bottle of juice|light bulb|notebook|insurance|heating oil
train journey|ferry ticket|bicycle light|painting set|kettle|pillow
""".replace("\n", "|")
    .strip("|")
    .split("|")
)

PURCHASE_STEMS = (
    "You stand before a shelf and need a {x}. These are on it: {offers}. Which do you take?",
    "You compare offers for a {x}: {offers}. Which one do you choose?",
    "A shop has these for a {x}: {offers}. Which brand goes into your basket?",
)

YES_NO_STEMS = (
    "Somebody at the door asks you for {n} {c} for {x}. Do you give?",
    "A letter asks you to support {x} with {n} {c}. Do you?",
    "There is a petition about {x}. Do you sign?",
    "Next week there is a meeting about {x}. Do you go?",
    "You could learn more about {x} in an evening course that costs {n} {c}. Do you register?",
    "Your town votes on {x}. Do you go to the polls?",
)

CURRENCIES = ("dollars", "euros", "pounds", "francs", "pesos")

VOTE_STEMS = (
    "There is a referendum on {x} next month. How will you vote?",
    "In the referendum about {x}, what will you vote?",
    "If the election were held today, for whom would you vote?",
    "Which party is closest to you?",
    "Three candidates stand for mayor. Whom do you support?",
)

VOTES = (
    ("yes", "no"),
    ("yes", "no", "undecided"),
    ("yes", "no", "abstain", "undecided"),
    ("for", "against", "not voting"),
)

FACTS: tuple[tuple[str, tuple[str, ...]], ...] = (
    ("sex", ("female", "male")),
    ("marital status", ("married", "single", "divorced", "widowed")),
    ("education", ("primary school", "secondary school", "vocational school", "university")),
    ("work", ("full time", "part time", "retired", "student", "looking for work", "at home")),
    ("income", ("low", "below average", "average", "above average", "high")),
    ("region", ("north", "south", "east", "west", "the coast", "the capital")),
    ("religion", ("none", "Catholic", "Protestant", "Muslim", "other")),
    ("politics", ("left", "rather left", "centre", "rather right", "right")),
    ("children", ("none", "one", "two", "three", "four or more")),
    ("place", ("a village", "a small town", "a suburb", "a large city")),
    ("health", ("excellent", "good", "fair", "poor")),
    ("home", ("own house", "own flat", "rented flat", "shared flat")),
    ("language", ("English", "Spanish", "Polish", "Turkish", "French")),
    ("year", ("1984", "1991", "1998", "2005", "2012", "2019")),
)
"""What may be known of a person, besides the age."""
