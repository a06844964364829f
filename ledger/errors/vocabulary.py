"""The words of error messages: what a normalised message may consist of.

Each is a word of programs. Names of people, places and things that people say are none, whoever else may bear them.
"""

TEXT, PATH, ADDRESS, DATE, NUMBER, ID = (f"<{name}>" for name in ("text", "path", "address", "date", "n", "id"))

FAILURE_WORDS = """
abort aborted api_error authentication_error bad blocked broken can't cannot closed conflict connrefused
context_length_exceeded crash crashed denied deprecated died disabled disconnected duplicate err error errors exceeded
exception exhausted expired fail failed failure failures fatal forbidden full hangup illegal incomplete incorrect
insufficient insufficient_quota interrupted invalid invalid_request_error killed limited malformed mismatch missing
not not_found_error overflow overloaded overloaded_error panic permission_error rate_limit_error rate_limit_exceeded
reached refused rejected reset server_error stopped terminated throttled timed timeout truncated unable unauthorized
unavailable undefined unexpected unhandled unknown unreachable unrecognized unresolved unsupported unterminated
violation wrong
"""
SYSTEM_NAMES = """
EACCES EADDRINUSE EAI_AGAIN EBADF EBUSY ECONNABORTED ECONNREFUSED ECONNRESET EDQUOT EEXIST EIO EISDIR EMFILE ENOENT
ENOMEM ENOSPC ENOTCONN ENOTDIR ENOTEMPTY ENOTFOUND EPERM EPIPE EROFS ETIMEDOUT SIGABRT SIGINT SIGKILL SIGSEGV SIGTERM
AssertionError AttributeError ConnectionError ConnectionResetError FileNotFoundError ImportError IndexError IOError
JSONDecodeError KeyError MemoryError ModuleNotFoundError NameError NotImplementedError OSError PermissionError
RangeError ReferenceError RuntimeError SyntaxError TimeoutError TypeError UnicodeDecodeError ValueError
ZeroDivisionError
"""
OTHER_WORDS = """
access account action agent allowed already api app argument arguments array auth authentication authorization
available balance bash billing body branch browser budget buffer bytes cache call certificate channel character client
code column command completion config configuration connect connection content context credentials credit curl data
database date decode delivery device directory disconnect disk dns document domain encoding endpoint entry env
environment execute exist existing exists exit exited expected expression field file files filter flag folder format
found function gateway git handshake header headers host http https id image index input instance interface internal
invocation item job json key keyword length limit line link load location lock login long longer lookup loop match
maximum memory message messages method minimum minute minutes mode model models module ms name negative network node
npm null number object offline operation option output package parameter parameters parse password path pattern
payload peer pending permission permissions pid plugin policy port position present process profile program property
protocol provided provider proxy python query queue quota range rate read record redirect region remote repository
request requests required resolve resource response retry returned route rule run running runtime sandbox schema
search seconds send server service session set sh shell signal size skill slot socket space spawn ssh ssl stack start
state statement status storage stream string supported symbol syntax system table task temporary test tests thread
time timestamp token tokens too tool tools traceback transaction type upload upstream url usage user valid value
values variable version volume window workspace write zone
"""
JOINING_WORDS = """
a after an and are as at be before but by did do does for from has have in into is it its many no of on or please such
than that the there this to was were while with without
"""
# The first line with one of these names the failure.
FAILURES = frozenset(FAILURE_WORDS.split())
# Codes of the system and names of exceptions, which name a failure as well, as they are spelled.
NAMES = {name.lower(): name for name in SYSTEM_NAMES.split()}
# Words between others: they go where nothing around them is known.
JOINTS = frozenset(JOINING_WORDS.split())
WORDS = FAILURES | frozenset(OTHER_WORDS.split()) | JOINTS
STATUSES = frozenset(map(str, (400, 401, 402, 403, 404, 405, 408, 409, 410, 413, 415, 422, 429, *range(500, 505), 529)))
SIGNS = FAILURES | STATUSES | frozenset(NAMES.values())
