"""How well methods find and modes answer: metrics, intervals, and the run over a file of questions."""
