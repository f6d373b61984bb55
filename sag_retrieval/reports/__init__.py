"""The report about communities: its sections, page, Markdown and tables."""
