"""What made-up survey questions are about: statements, things that people do and have, and things that they judge.

Only their variety counts: what a person says to them is not stated anywhere. Some are written out, and many are put
together from a beginning or an end that fits any subject or any activity.
"""

from populace.training.unfamiliar_texts import SUBJECTS


def _lines(text: str) -> tuple[str, ...]:
    return tuple(text.strip().splitlines())


def _combined(frames: str, contents: tuple[str, ...]) -> tuple[str, ...]:
    """Every content in every frame."""
    return tuple(frame.format(x=content) for frame in _lines(frames) for content in contents)


ACTIVITIES = _lines("""
bake bread or a cake
have dinner with relatives
write a letter by hand
take a walk in a park
repair something in the house
work in a garden
read a book to a child
go to bed after midnight
eat in the kitchen
look at old photographs
clean windows
play cards or board games
visit somebody who is ill
wait longer than ten minutes for a bus or train
talk with a neighbor over the fence
lend tools to somebody
sing alone
carry something heavy
forget a birthday
listen to a weather forecast
feel cold at home
wear a hat
buy bread at a bakery
drive more than an hour
swim
iron clothes
eat fish
use a ladder
lose your keys
watch birds
take the stairs instead of a lift
water plants
dream in color
speak a foreign language
cook for more than four people
ride a bicycle to a shop
sit on a balcony or a porch
get up before six in the morning
sew on a button
polish shoes
""")
"""What one does more or less often."""

THINGS = (
    _lines("""
a quiet place to read
a short way to the baker
clean windows
fresh bread
good street lamps
a garden of one's own
public clocks
swimming lessons for children
night trains
lighthouses
country roads
school kitchens
the care of old trees
weather stations
village halls
fire brigades
public gardens
the ferry service
beekeepers
bus drivers
bakeries
plumbers
hotels
dentists
car repair shops
weather forecasters
the water works
furniture makers
toy makers
railway companies
map makers
postal workers
gardeners
school buses
handwriting
table manners
family recipes
local dialects
a good night's sleep
polite shop assistants
cold winters
empty beaches
high mountains
old steam engines
ocean currents
the migration of birds
the history of bridges
the Moon
the origin of rivers
volcanoes
""")
    + SUBJECTS
)
"""What one finds important, is interested in, trusts, or wants more or less of."""

STATEMENTS = _lines("""
Small towns are better places to live than large cities
Libraries should stay open on Sundays
Most cooks would rather work for a hotel than for a school
Children learn more from other children than from books
A country without trains is a poor country
People who keep bees are patient people
Bridges should be built by the towns that need them
It is a pity that so few people can repair their own shoes
Dogs understand more than their owners believe
Cities should have fewer parking places
A good neighbour does not ask questions
Nurses know patients better than surgeons do
Bread was better thirty years ago
Farmers are the first to notice a change of the weather
Every village should have a public kitchen
Museums of technology are only for tourists
Hotels should say how much water they use
A second language makes a better colleague
The school year should begin in spring
Maps on paper will not be needed much longer
Night shifts should be paid twice as much as day shifts
It should be forbidden to sell toys with batteries
Someone who has travelled much judges others less quickly
The state should pay for the driving lessons of young people
Mountains should be left to the animals
Tall buildings spoil the view of everybody else
A letter by hand says more than a telephone call
Most inventions come from people who failed before
Lighthouses should be kept even where no ships pass
Judges should wear ordinary clothes
Competition between bakeries is good for everybody
Apartment houses with gardens on the roof are a waste of money
Big storms are more frequent than in the days of our grandparents
Every shop should close at six
Old machines last longer than new ones
Postmen should be allowed to enter any garden
Rivers belong to those who live beside them
Schools should teach how to cook
There are too many rules for people who build a house
Team sports make children selfish
Zoos do more good than harm
Watching the stars is a waste of time
A town hall should be the finest building of a town
Speed limits on country roads are too low
Prices should end in whole dollars
Airports should be far from any town
Young drivers should not drive at night
Soldiers make good teachers
Wind turbines make a landscape more beautiful
Weather forecasts are seldom right
""") + _combined(
    """
There is too much talk about {x}
Our country would be poorer without {x}
One hears little good about {x} nowadays
Nobody should earn money with {x}
Children should hear more about {x}
The state should leave {x} alone
Other countries deal better with {x}
Newspapers do not tell the truth about {x}
Most people have no idea about {x}
{x}: twenty years ago that mattered more than today
""",
    SUBJECTS,
)
"""Statements about the world, with which people may agree."""

SELF_STATEMENTS = (
    _lines("""
I would rather walk than wait for a bus
I often lose small things at home
I remember faces better than names
I like to have music on when I cook
I can repair most things in my household
I am the first in my family to notice when something is wrong
I finish a book even if it bores me
I know the names of most trees in my street
I keep letters for many years
I find it easy to get up early
I prefer a room with a window to the street
I say what I think, even to strangers
I dislike large parties
I usually arrive too early
I plan a journey weeks before it begins
I talk to animals
I lend things without asking when I get them back
I sleep badly in other houses
I often change the furniture of my rooms
I eat the same breakfast every day
I know my neighbours by their first names
I enjoy long drives alone
I write down what I spend
I get impatient in queues
I think before I speak
I learn new songs easily
I am good with numbers
I avoid lifts if there are stairs
I feel at ease with people much older than I am
I seldom throw anything away
My handwriting is easy to read
My kitchen is the room where I spend most of my time
My friends come to me when they need a tool
My garden takes more of my time than I would like
My family eats together most evenings
My street is quieter than most
My work leaves me enough time for my hobbies
My car is more than a means of transport to me
My memory for numbers is excellent
My clothes last longer than those of other people
""")
    + _combined(
        """
I often speak about {x} with friends
My opinion about {x} has changed over the years
I would miss {x}
I have read a book about {x}
I avoid conversations about {x}
""",
        SUBJECTS,
    )
    + _combined(
        """
It makes me proud to {x}
I would rather {x} than watch television
I find it easy to {x}
I have to be asked twice to {x}
""",
        tuple(each.replace("your", "my") for each in ACTIVITIES),
    )
)
"""Statements that somebody may make of themselves."""

YES_NO = (
    _lines("""
Do you own a sewing machine?
Do you have a vegetable garden?
Have you ever broken a bone?
Have you ever slept in a tent in winter?
Did you mend anything in your household during the last month?
Did you visit a zoo during the last 12 months?
Can you swim more than a mile?
Is there a clock in the room where you sleep?
Has anyone in your household ever kept chickens?
Have you ever travelled by ship for more than a day?
Do you speak a language that your parents did not speak?
Do you keep a list of what you have to buy?
Did your parents have a piano?
Have you ever changed the wheel of a car yourself?
Do you have a spare key with a neighbor?
Did you eat breakfast yesterday?
Have you ever won a prize in a sports contest?
Do you usually carry a pen with you?
Is your home on the ground floor?
Have you ever lived on a farm?
Did you ever learn to play chess?
Do you have a photograph of your grandparents?
Have you been stung by a wasp in the last five years?
Did you go to a wedding last year?
Do you own more than one pair of boots?
Have you ever stayed awake for a whole night to finish some work?
Do you have a favorite chair at home?
Have you ever found money in the street?
Is there a bakery within ten minutes of your home?
Have you ever taught somebody to drive?
Did you have to stand on your last train or bus journey?
Do you drink tea in the morning?
Are you left-handed?
Have you ever had a letter printed in a newspaper?
Has a bird ever flown into your home?
Do you lock your bicycle when you leave it for a minute?
Did you have a garden as a child?
Is anyone in your family taller than six feet?
Have you ever been locked out of your home?
Do you iron your shirts?
Did you send a parcel during the last four weeks?
Have you ever climbed a mountain of more than 6,000 feet?
Do you use an alarm clock on working days?
Have you ever painted a room yourself?
Did you catch a cold last winter?
Do you usually eat at a table?
Have you planted a tree since you were 18 years old?
Does your household own a ladder?
Have you ever missed a flight?
Did you hear a cuckoo this spring?
Does the house in which you live have an attic?
Have you ever given a speech at a family party?
Do you take sugar in your coffee?
Have you ever seen the northern lights?
Did you buy flowers for somebody last month?
Should shops be allowed to open at night?
Should cats be kept on a lead in towns?
Should school lunches be free for everybody?
Do you think that a new bridge should be paid for by those who cross it?
Would you favor or accept a law that limits the height of hedges?
""")
    + _combined(
        """
Did you {x} last week?
Would you {x} as a favor to a friend?
Do your parents often {x}?
Have you ever had to {x} at work?
Should people be paid to {x}?
""",
        ACTIVITIES,
    )
    + _combined(
        """
Have you ever complained about {x}?
Would you pay a tax for {x}?
Is there too little money for {x}?
Were {x} ever a subject of your lessons at school?
Do you know anybody who dislikes {x}?
""",
        SUBJECTS,
    )
)
"""Questions to which one says yes or no."""
