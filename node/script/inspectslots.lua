-- inspectslots.lua: tell who has the slots of a semaphore and who waits for one, and change
-- nothing.
--
-- KEYS[1]  slots, see permit.lua
-- returns  {the largest fencing counter, slots, waiters}: slots is an array of slot, owner, ms
--          left and fencing counter for each that is taken, in their order; waiters is one of
--          owner and permits for each of the first hundred in the queue. permits is empty if
--          its last ask is stale
-- Called for an InspectPermits command.

local slots = KEYS[1]
-- #include slotnames.lua
-- #include permit.lua
-- #include slots.lua
local wrong = look(slots)
if wrong then
  return wrong
end
local largest, there, waiters, told = '0', {}, {}, {}
local all = redis.call('hgetall', counters)
for i = 2, #all, 2 do
  if (tonumber(all[i]) or 0) > tonumber(largest) then
    largest = all[i]
  end
end
all = redis.call('zrange', slots, 0, '+inf', 'byscore', 'withscores')
for i = 1, #all, 2 do
  local n, slot = 2 * i - 2, tonumber(all[i + 1])
  there[n + 1], there[n + 2] = slot, all[i]
  there[n + 3] = math.ceil((redis.call('zscore', slots .. 'ends', all[i]) - now) / 1000)
  there[n + 4] = redis.call('hget', counters, slot) or '0'
end
for _, permits in ipairs(redis.call('zrange', queue, 0, -1)) do
  local line = redis.call('zrange', queue .. permits, 0, 99, 'withscores')
  for i = 1, #line, 2 do
    waiters[#waiters + 1] = {owner = line[i], since = tonumber(line[i + 1])}
  end
end
table.sort(waiters, function(x, y)
  return x.since < y.since or x.since == y.since and x.owner < y.owner
end)
for i = 1, math.min(#waiters, 100) do
  local ask = redis.call('get', queue .. waiters[i].owner) or ''
  told[2 * i - 1], told[2 * i] = waiters[i].owner, string.match(ask, '(%d+) %d+$') or ''
end
return {largest, there, told}
