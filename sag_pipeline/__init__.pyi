from .components.corpus import Corpus as Corpus
from .components.corpus import CorpusReport as CorpusReport
from .components.corpus import DocumentTable as DocumentTable
from .components.corpus import corpus_definitions as corpus_definitions
from .extract.name_decisions import NameDecision as NameDecision
from .extract.name_decisions import decide_name as decide_name
from .extract.name_decisions import undo_decision as undo_decision
