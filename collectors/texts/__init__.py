"""From bytes to lines, tables, documents and stamps: what readers of text share."""
