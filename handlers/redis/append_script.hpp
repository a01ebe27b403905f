#pragma once

namespace seriatim::handlers {

/// Appends rows to one stream until the first that fails; the server runs nothing else meanwhile.
///
/// Plain pipelined XADDs would not do: where one is refused (OOM, MISCONF …) and the next is not,
/// the later row stands ahead and the earlier id is refused for ever. MULTI … EXEC goes on after an
/// error as well. Rates: README.md beside this file.
///
/// KEYS[1]  the stream
/// ARGV[1]  how many rows      ARGV[2]  MAXLEN, or ""      ARGV[3]  "~" or "="
/// ARGV[4]  entries up to this sequence were acknowledged and must be there; "0": do not look
/// ARGV[5]  "1": WAIT follows
/// ARGV[6]  the process        ARGV[7]  the epoch
/// ARGV[8], ARGV[9]  sequence and id of the row the stream must end with, "" for any: so chunks may
///          be pipelined, for after one that stopped early the next does nothing
/// then for each row: its sequence, its id, how many words follow, field, value, field, value …
///
/// Answers {rows done, what stopped it, details}; done are those appended and those found there.
inline constexpr const char append_script[] = R"lua(
local stream, process, epoch = KEYS[1], ARGV[6], ARGV[7]

local function last_id()
  if redis.call('EXISTS', stream) == 0 then return '0-0' end
  local info = redis.call('XINFO', 'STREAM', stream)
  for i = 1, #info, 2 do
    if info[i] == 'last-generated-id' then return info[i + 1] end
  end
end

-- Whose entry it is: the first fields of those written below.
local function ours(entry, id)
  local fields = entry[2]
  return fields[1] == 'id' and fields[2] == id and
         fields[3] == 'seriatim-process' and fields[4] == process
end

local acknowledged = tonumber(ARGV[4])
if acknowledged > 0 then
  local last = last_id()
  if tonumber(string.match(last, '^%d+')) < acknowledged then return {0, 'lost', last} end
end

if ARGV[8] ~= '' then
  local top = redis.call('XREVRANGE', stream, '+', '-', 'COUNT', 1)[1]
  if not top or top[1] ~= ARGV[8] .. '-0' or not ours(top, ARGV[9]) then return {0, 'behind', ''} end
end

local function found(entry_id, id)
  local entry = redis.call('XRANGE', stream, entry_id, entry_id)[1]
  if not entry then return 'gone' end
  return ours(entry, id) and 'ours' or 'taken'
end

local done, appended, at = 0, 0, 10
for row = 1, tonumber(ARGV[1]) do
  local sequence, id, last = ARGV[at], ARGV[at + 1], at + 2 + tonumber(ARGV[at + 2])
  local entry_id = sequence .. '-0'
  local reply = redis.pcall('XADD', stream, entry_id, 'id', id, 'seriatim-process', process,
                            'seriatim-sequence', sequence, 'seriatim-epoch', epoch,
                            unpack(ARGV, at + 3, last))
  if type(reply) == 'table' and reply.err then
    if not string.find(reply.err, 'equal or smaller', 1, true) then
      return {done, 'error', reply.err}
    end
    local whose = found(entry_id, id)
    if whose ~= 'ours' then return {done, whose, last_id()} end
  else
    appended = appended + 1
  end
  done = done + 1
  at = last + 1
end

if appended > 0 and ARGV[2] ~= '' then redis.call('XTRIM', stream, 'MAXLEN', ARGV[3], ARGV[2]) end
-- From Redis 7.2 on WAIT looks at the last write of this connection: where all was there already,
-- there is none, and any replica would do.
if appended == 0 and ARGV[5] == '1' then redis.call('XSETID', stream, last_id()) end
return {done, appended < done and 'repeats' or '', ''}
)lua";

}  // namespace seriatim::handlers
