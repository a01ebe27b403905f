"""Acts as a broker in the contract suite: a book, to which each record's line is added.

contract_child.py FOLDER: FOLDER/book is the book, FOLDER/pid says who writes it, FOLDER/closed closes it.
"""
import json
import os
import sys

folder = sys.argv[1]
closed = os.path.join(folder, "closed")
book = os.open(os.path.join(folder, "book"), os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o644)
size = os.fstat(book).st_size
if size > 0 and os.pread(book, 1, size - 1) != b"\n":
    os.write(book, b"\n")  # whoever wrote the last line was killed in the middle of it
with open(os.path.join(folder, "pid"), "w") as pid:
    pid.write(f"{os.getpid()}\n")

print("the book is open", file=sys.stderr, flush=True)

for line in sys.stdin.buffer:
    record = json.loads(line)
    answer = {"id": record["id"], "outcome": "done"}
    if os.path.exists(closed):
        answer |= {"outcome": "retry", "reason": "the book is closed"}
    elif len(record.get("payload_text", "")) > 1 << 20:
        answer |= {"outcome": "poison", "reason": "too long for the book"}
    else:
        os.write(book, line)
    print(json.dumps(answer), flush=True)
    if answer["outcome"] != "done" and "rest" in record:
        break  # what follows of this batch must not be added

print("the book is closed for today", file=sys.stderr, flush=True)
