"""The version of the rules by which turns are made of records.

A change of the collectors that gives other turns for the same records raises VERSION. Sessions keep the version by
which they were read; the job `read_again` reads those with a lower one again.
"""

AGAIN, OLDER = 0, 1  # of a session whose index entry has changed; of rows that have no version noted
# 2: answers sent by the tool `message`, silent and fixed replies, holes, records on damaged lines
# 3: replies without OpenClaw's markers, commands, outcomes of runs that answer by the tool `message`; records under
#    used ids have names of their own; a source that is written anew abandons no turn
VERSION = 3
