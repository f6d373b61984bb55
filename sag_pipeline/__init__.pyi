from .corpus import Corpus as Corpus
from .corpus import CorpusReport as CorpusReport
from .corpus import DocumentTable as DocumentTable
from .corpus import corpus_definitions as corpus_definitions
