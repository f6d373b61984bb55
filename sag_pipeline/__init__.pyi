from .components.corpus import Corpus as Corpus
from .components.corpus import CorpusReport as CorpusReport
from .components.corpus import DocumentTable as DocumentTable
from .components.corpus import corpus_definitions as corpus_definitions
