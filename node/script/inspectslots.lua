-- inspectslots.lua: tell who has the slots of a semaphore and who waits for one, and change
-- nothing.
--
-- KEYS[-]  slots queue counters, see permit.lua and slots.lua
-- returns  {the largest fencing counter, slots, waiters}: slots is an array of slot, owner, ms
--          left and fencing counter for each that is taken, in their order; waiters is one of
--          owner and permits for each of the first hundred in the queue. permits is empty if
--          its last ask is stale
-- Called by permit.lua, for an InspectPermits command.

function run(_, slots, queue, counters)
  local largest, taken, waiters, order = '0', {}, {}, {}
  local all = redis.call('hgetall', counters)
  for i = 2, #all, 2 do
    if (tonumber(all[i]) or 0) > tonumber(largest) then
      largest = all[i]
    end
  end
  for slot in pairs(owners) do
    order[#order + 1] = slot
  end
  table.sort(order)
  for _, slot in ipairs(order) do
    local n = #taken
    taken[n + 1], taken[n + 2] = slot, owners[slot]
    taken[n + 3] = math.ceil(ends[slot] - now)
    taken[n + 4] = redis.call('hget', counters, slot) or '0'
  end
  for i, owner in ipairs(redis.call('zrange', queue, 0, 99)) do
    local ask = redis.call('get', queue .. owner) or ''
    waiters[2 * i - 1], waiters[2 * i] = owner, string.match(ask, '(%d+) %d+$') or ''
  end
  return {largest, taken, waiters}
end
