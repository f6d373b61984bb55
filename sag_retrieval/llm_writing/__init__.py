"""What a language model writes about themes: titles, summaries, findings, answers, each checked against its events."""
