-- uses.lua: say how a client uses the masters, and ask how others do.
--
-- KEYS[1]  redlock_sets: a hash, terms -> "first last client": when they were published first and
--          last, in ms by this master's clock, and who did that last, empty if that has no record
-- ARGV[1]  ms after which terms that nobody has published again are forgotten
-- ARGV[2]  how many terms are kept
-- ARGV[3]  the client's terms; empty if it only asks, which writes nothing
-- ARGV[4]  ms for which it has used them; 0 puts them behind all that are there
-- ARGV[5]  the client, empty if it keeps no record
-- returns  a list: ms by this master's clock; then for each of the terms in use: they, their value,
--          and the record of its client, empty if there is none, or if the client publishes its own
-- Called by Terms.Publish and LookAtUses: no lock depends on it. A repeat only
-- makes the terms newer.
local life, most, own, age = tonumber(ARGV[1]), tonumber(ARGV[2]), ARGV[3], tonumber(ARGV[4])
local time = redis.call('time')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local found = redis.call('hgetall', KEYS[1])
local uses, stale, mine, latest = {}, {}, nil, 0

for i = 1, #found, 2 do
  local first, last, client = string.match(found[i + 1], '^(%d+) (%d+) (.*)$')
  first, last = tonumber(first), tonumber(last)
  if not last or now - last > life then
    stale[#stale + 1] = found[i]
  else
    local use = {terms = found[i], first = first, last = last, client = client}
    if last > now + 1000 then -- the clock was set back
      use.first, use.last, use.changed = math.min(first, now), now, true
    end
    latest = math.max(latest, use.first)
    if use.terms == own then
      mine = use
    else
      uses[#uses + 1] = use
    end
  end
end
table.sort(uses, function(a, b) return a.last > b.last end)
while #uses >= most do
  stale[#stale + 1] = table.remove(uses).terms
end

local function value(use) return string.format('%.0f %.0f %s', use.first, use.last, use.client) end

if own ~= '' then
  local first = now - age
  if age == 0 and first <= latest then first = latest + 1 end
  if mine then first = math.min(first, mine.first) end
  uses[#uses + 1] = {terms = own, first = first, last = math.max(now, first), client = ARGV[5], changed = true}
  for _, use in ipairs(uses) do
    if use.changed then redis.call('hset', KEYS[1], use.terms, value(use)) end
  end
  for _, terms in ipairs(stale) do redis.call('hdel', KEYS[1], terms) end
  redis.call('pexpire', KEYS[1], life)
end

local reply = {string.format('%.0f', now)}
for _, use in ipairs(uses) do
  local record = own == '' and use.client ~= '' and redis.pcall('get', 'redlock_client:{' .. use.client .. '}')
  reply[#reply + 1] = use.terms
  reply[#reply + 1] = value(use)
  reply[#reply + 1] = type(record) == 'string' and record or ''
end
return reply
