"""Word lists for English names; short, and of our own choosing."""

COMMON = frozenset(
    """a about above according across after again against ago all almost along already also although always am among an
    and another any are around as at away back be because become before behind being below beside besides between
    beyond both but by can could did despite do does down due during each either else enough even every few finally
    first following for former formerly from full further furthermore given had has have he hence her here his how
    however i if in including indeed instead into is it its itself just last lastly late later least less let like
    many may meanwhile might more moreover most much must my nearly neither never nevertheless new next no none nor not
    nothing now of off often on once one only onto or other others our out over overall own part per perhaps please
    previously rather recently regarding same second secondly see several shall she should similarly since so some
    soon specifically still subsequently such than that the their them then there thereby therefore these they third
    this those though three through throughout thus to today together too toward two under unlike until up upon us
    very was we were what when where whereas whether which while who whole whom whose why will with within without
    would yes yet you your additionally initially ultimately eventually afterwards consequently accordingly
    notably certainly clearly oh ah well come go good dear sir madam four five six seven eight nine ten
    thank thanks hello hi hey okay ok yeah sure really maybe wow bye sorry hope looking sounds got getting having
    based born using located known named called founded established note table figure page chapter section total
    item article annex volume project time name date age""".split()
)
"""Words that begin sentences; alone they are no names, and are cut off the front of one."""

CALENDAR = frozenset(
    """january february march april june july august september october november december monday tuesday wednesday
    thursday friday saturday sunday mon tue wed thu fri sat sun jan feb mar apr jun jul aug sep sept oct nov dec
    """.split()
)

NOT_NAMES = CALENDAR | frozenset(
    """mmhg kg km cm mm ml mg kwh mwh gwh mw gw kw khz mhz ghz phd msc bsc hiv patient defendant plaintiff company
    board notes exhibit court stave illustration tailpiece record""".split()
)
"""Words with a capital that name nothing alone."""

ROLES = frozenset(
    """mr mrs ms miss dr prof professor president chairman chairwoman chair director manager minister secretary
    governor mayor senator representative judge justice king queen prince princess emperor sir lord lady captain
    colonel general major sergeant lieutenant officer agent inspector doctor chief ceo cfo cto coo founder
    agents messrs master mistress doctors professors ministers directors presidents co-founder engineer scientist analyst editor head coach reverend rev father uncle aunt saint st hon author
    defendant plaintiff prosecutor attorney lawyer""".split()
)
"""Words before a person's name; cut off its front."""

NOT_SURNAMES = frozenset(
    """brand day eve prize award act plan report review model system theory law test method effect cup medal bridge
    project program programme festival season series street square agreement treaty war""".split()
)
"""Last words of names that begin like a person's."""

FIRST_NAMES = frozenset(
    """aaron abigail adam adrian agnes aidan alan albert alex alexander alexandra alfred alice alicia allison amanda
    amber amelia amy ana andrea andrew angela ann anna anne anthony antonio arthur ashley audrey austin barbara
    benjamin bernard beth betty bill bob bobby bradley brandon brenda brian bruce bryan caleb calvin cameron carl
    carla carlos carol caroline catherine cecilia charles charlotte chloe chris christian christina christine
    christopher claire clara claudia colin connor craig crystal cynthia dan daniel daniela david dean deborah denise
    dennis derek diana diane diego donald donna dora doris dorothy douglas dylan ebenezer edgar edith edward edwin
    eileen elaine eleanor elena eli elijah elizabeth ella ellen emily emma eric erica ernest ethan eugene eva evan
    evelyn felix fernando fiona frances francis frank franklin fred frederick gabriel gary george gerald gloria
    gordon grace graham greg gregory hannah harold harriet harry harvey heather heidi helen helena henry herbert
    howard hugh hugo ian igor ingrid irene iris isaac isabel isabella ivan jack jackson jacob jacqueline jake james
    jamie jan jane janet janice jared jason jasmine javier jean jeff jeffrey jennifer jenny jeremy jerry jesse
    jessica jill jim jimmy joan joanna joe joel john johnny jon jonathan jordan jorge jose joseph joshua joyce juan
    judith judy julia julian julie justin karen karl kate katherine kathleen kathryn katie keith kelly ken kenneth
    kevin kim kimberly kyle larry laura lauren laurence lawrence leah lee leo leon leonard leslie lewis liam lily
    linda lisa logan lois louis louise lucas lucia lucy luis luke lydia madison marcus margaret maria marie marilyn
    marina mario marion mark martha martin marvin mary mason mateo matthew maurice max megan melissa michael michelle
    miguel mike mildred molly monica morgan nadia nancy naomi natalie nathan neil nicholas nicole nina noah nora
    norman oliver olivia oscar owen pamela patricia patrick paul paula pauline peggy peter philip phillip phoebe
    priya rachel ralph ramon raymond rebecca ricardo richard rita robert roberta robin rodney roger ronald rosa rose
    roy ruby russell ruth ryan sally sam samantha samuel sandra sara sarah scott sean sebastian sergio seth sharon
    shirley simon sofia sonia sophia sophie spencer stanley stella stephanie stephen steve steven stuart susan
    sylvia tara taylor ted teresa terry theodore theresa thomas tiffany tim timothy tina todd tom tony tracy tyler
    valerie vanessa vera veronica vicky victor victoria vincent violet virginia vivian walter wanda warren wayne
    wendy wesley william winston xavier yvonne zachary zoe""".split()
)

ORGANISATIONS = frozenset(
    """academy administration agency airlines airways alliance army associates association authority bank bros
    brothers bureau cathedral church club co college commission committee company confederation consortium
    cooperative corp corporation council court department division enterprises fc federation firm force forum
    foundation fund gallery group guild holdings hospital inc industries initiative institute institution
    investments journal laboratories laboratory labs league library limited llc llp logistics ltd manufacturing
    media ministry monastery motors museum navy network office orchestra organisation organization parliament
    partners party plc police press procuratorate productions publishers publishing records robotics school senate
    services society software solutions squad studio studios syndicate systems team technologies theatre trust
    union university""".split()
)
"""Last words of organisations; or first words before `of`."""

ORGANISATION_OF = frozenset(
    """academy association bank board bureau church college commission council court department federation house
    institute league ministry museum office society union university school""".split()
)

BEFORE_OF = ORGANISATIONS | frozenset(
    """states kingdom republic order prize award house duke battle siege treaty act declaration book gospel statements
    meeting notes office""".split()
)
"""Last words that `of` may follow inside a longer name."""

PINYIN_SURNAMES = frozenset(
    """li wang zhang liu chen yang zhao huang zhou wu xu sun hu zhu gao lin he guo ma luo liang song zheng xie han tang
    feng yu dong xiao cheng cao yuan deng fu shen zeng peng lu su jiang cai jia ding wei xue ye yan pan du dai xia zhong
    tian ren fan fang shi yao tan liao zou xiong jin hao kong bai cui kang mao qiu qin gu hou shao meng long wan qian
    yin chang qiao lai gong wen""".split()
)

PLACES = frozenset(
    """airport avenue bay point beach bridge canal canyon castle city coast county creek desert district falls forest
    gulf harbor harbour heights highway hill hills island islands isle junction kingdom lake land lane mountain
    mountains ocean park peak peninsula plain plaza port province quay range reef republic ridge river road sea
    square state station strait street territory town township valley village waterfall wood woods""".split()
)
PLACE_FIRST = frozenset("mount lake cape fort port gulf isle river san santa north south east west new".split())

KNOWN_PLACES = frozenset(
    """africa america antarctica asia europe australia oceania england scotland wales britain ireland france germany
    italy spain portugal netherlands belgium luxembourg switzerland austria poland hungary romania bulgaria greece
    turkey russia ukraine sweden norway denmark finland iceland canada mexico brazil argentina chile peru colombia
    venezuela cuba egypt morocco algeria tunisia libya nigeria ghana kenya ethiopia tanzania uganda zimbabwe israel
    iran iraq syria lebanon jordan kuwait qatar india pakistan bangladesh nepal china japan korea vietnam thailand
    malaysia singapore indonesia philippines taiwan mongolia kazakhstan london paris berlin madrid rome vienna
    moscow beijing shanghai shenzhen guangzhou hangzhou chengdu nanjing wuhan tokyo osaka kyoto seoul delhi mumbai
    sydney melbourne toronto montreal vancouver chicago boston philadelphia houston dallas seattle denver atlanta
    miami detroit washington california texas florida georgia virginia ohio michigan illinois pennsylvania oregon
    arizona colorado nevada utah hawaii alaska amsterdam brussels geneva zurich stockholm oslo copenhagen helsinki
    prague budapest warsaw athens istanbul cairo dubai lisbon dublin edinburgh manchester liverpool munich hamburg
    frankfurt milan venice florence barcelona yorktown""".split()
) | {
    "united states",
    "united kingdom",
    "new york",
    "new york city",
    "los angeles",
    "san francisco",
    "hong kong",
    "new zealand",
    "south africa",
    "north america",
    "south america",
    "latin america",
    "middle east",
    "greater china",
    "saudi arabia",
    "south korea",
    "north korea",
    "sri lanka",
    "czech republic",
    "soviet union",
    "new jersey",
    "new mexico",
    "north carolina",
    "south carolina",
}

SPEECH = frozenset(
    """said says asked replied answered added told whispered cried exclaimed explained nodded smiled laughed sighed
    remarked returned observed murmured shouted thought felt knew looked turned joined resigned wrote born died
    married""".split()
)
