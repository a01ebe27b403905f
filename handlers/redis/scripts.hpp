#pragma once

namespace seriatim::handlers {

/// Rows are appended by MULTI, XADD …, EXEC, and EXEC goes on after an error. What the server
/// refuses as a whole (OOM, READONLY, MISCONF …) it refuses while it queues, and EXEC then does
/// nothing. One refusal is left that spares later rows: of an id the stream is past. Where the
/// first row meets it, the guard, right after that row, lifts the stream's last id above all ids,
/// so that the rest is refused too, and the release at the end puts it back. Nobody sees it lifted,
/// and a server that dies has either all of the transaction in its file or nothing.
///
/// Not WATCH: a consumer that deletes what it has read touches the stream all the time (with one
/// that did 3 500 XDELs a second, 29 % of the transactions of 128 rows failed). Not the rows in
/// the script itself: it copies each into Lua and back, a third more of the server's time.
///
/// KEYS[1]  the stream
/// ARGV[1]  id of the first row's entry      ARGV[2]  sequence of the last row
/// ARGV[3], ARGV[4], ARGV[5]  the first row's id, process and epoch
inline constexpr const char guard_script[] = R"lua(
local found = redis.call('XRANGE', KEYS[1], ARGV[1], '+', 'COUNT', 2)
if #found == 1 and found[1][1] == ARGV[1] then
  local fields = found[1][2]
  if fields[2] == ARGV[3] and fields[4] == ARGV[4] and fields[8] == ARGV[5] then return '' end
end
local info = redis.call('XINFO', 'STREAM', KEYS[1])
for i = 1, #info, 2 do
  if info[i] == 'last-generated-id' then
    local number, rest = string.match(info[i + 1], '^(%d+)(%-%d+)$')
    if tonumber(number) < tonumber(ARGV[2]) then
      redis.call('XTRIM', KEYS[1], 'MAXLEN', '~', '1000000000000000000')
      redis.call('XSETID', KEYS[1], '10' .. string.rep('0', 18 - #number) .. number .. rest)
    end
    return info[i + 1]
  end
end
)lua";

/// KEYS[1]  the stream
/// ARGV[1]  id of the last row's entry: if it is there, nothing was lifted
inline constexpr const char release_script[] = R"lua(
if #redis.call('XRANGE', KEYS[1], ARGV[1], ARGV[1]) == 1 then return '' end
local info = redis.call('XINFO', 'STREAM', KEYS[1])
for i = 1, #info, 2 do
  if info[i] == 'last-generated-id' then
    local number, rest = string.match(info[i + 1], '^10(%d+)(%-%d+)$')
    if number and #number == 18 then
      redis.call('XTRIM', KEYS[1], 'MAXLEN', '~', '1000000000000000000')
      redis.call('XSETID', KEYS[1], string.match(number, '^0*(%d+)$') .. rest)
    end
    return info[i + 1]
  end
end
)lua";

/// What is in the stream of these rows, from the first on.
///
/// KEYS[1]  the stream
/// ARGV[1]  the process, then for each row its sequence and its id
///
/// Answers {how many are there, why no more of those the stream is past: "gone", "taken" or "", the
/// stream's last id}. XTRIM and XSETID change nothing; but they show at once whether the guard may
/// use them, and from Redis 7.2 on WAIT refers to the last write of this connection.
inline constexpr const char check_script[] = R"lua(
local stream, last = KEYS[1], '0-0'
if redis.call('EXISTS', stream) == 1 then
  local info = redis.call('XINFO', 'STREAM', stream)
  for i = 1, #info, 2 do
    if info[i] == 'last-generated-id' then last = info[i + 1] end
  end
  redis.call('XTRIM', stream, 'MAXLEN', '~', '1000000000000000000')
  redis.call('XSETID', stream, last)
end

local past = tonumber(string.match(last, '^%d+'))
local there = 0
for at = 2, #ARGV, 2 do
  local id = ARGV[at] .. '-0'
  local entry = redis.call('XRANGE', stream, id, id)[1]
  if tonumber(ARGV[at]) > past then break end
  if not entry then return {there, 'gone', last} end
  local fields = entry[2]
  if fields[1] ~= 'id' or fields[2] ~= ARGV[at + 1] or
     fields[3] ~= 'seriatim-process' or fields[4] ~= ARGV[1] then
    return {there, 'taken', last}
  end
  there = there + 1
end
return {there, '', last}
)lua";

}  // namespace seriatim::handlers
