"""What the log and the tables tell when they are asked: tokens used, tools called, the present day, the audit log.

Only reads, also tables of other folders. Owns no table.
"""
