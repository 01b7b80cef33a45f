"""The incident database: tables, how it is opened and migrated, and what is read and written."""
