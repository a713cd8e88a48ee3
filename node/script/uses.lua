-- uses.lua: say how a client uses the masters, and ask how others do.
--
-- KEYS[1]  redlock_sets: a string with a line for each use, "state last publisher terms": state is e for
--          established clients, which share the line of equal terms, and c for a candidate; last is when it
--          was published last, in ms by this master's clock
-- ARGV[1]  what the publisher is: e or c; w if it withdraws what it published last; empty if it only asks
-- ARGV[2]  the publisher, without spaces
-- ARGV[3]  its terms, on one line
-- ARGV[4]  the terms that these replace, which nobody can have any more; or empty
-- returns  ms by this master's clock, and the string as it is now: without what has expired and, when it
--          is full, without the publisher
-- Called by Terms.Publish, Withdraw and LookAtUses: no lock depends on it. A string that is too long, or no
-- string, counts as empty, and is replaced. A repeat only makes a line newer.
local lives, most, longest = {e = 60000, c = 5000}, 64, 65536
local state, publisher, own, former = ARGV[1], ARGV[2], ARGV[3], ARGV[4]
local time = redis.call('time')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local text = redis.pcall('getrange', KEYS[1], 0, longest)
if text.err and not string.find(text.err, 'WRONGTYPE') then return text end
if text.err or #text > longest then text = '' end

local uses, size, changed = {}, 0, false
local function add(line)
  uses[#uses + 1], size = line, size + #line + 1
end
for was, last, by, terms in string.gmatch(text, '([ec]) (%d+) (%S+) ([^\n]+)\n') do
  last = tonumber(last)
  if not last or last > now + 1000 then last, changed = now, true end -- the clock was set back
  local replaced = by == publisher and (was == 'c' or state == 'w')
    or state == 'e' and was == 'e' and (terms == own or terms == former)
  if now - last <= lives[was] and not replaced then
    add(string.format('%s %.0f %s %s\n', was, last, by, terms))
  end
end
if lives[state] then
  local line = string.format('%s %.0f %s %s\n', state, now, publisher, own)
  if #uses < most and size + #line < longest then add(line) end
end
text = table.concat(uses)
if state ~= '' or changed then redis.call('set', KEYS[1], text, 'PX', lives.e) end
return {string.format('%.0f', now), text}
