-- inspect.lua: tell who has the lock and who waits for it, or which slots of a semaphore somebody has,
-- and change nothing.
--
-- KEYS[1]  lock, the lock key: a hash, owner -> hold count; or what the keys of slots begin with
-- ARGV[1]  how many slots to look at, missing for a lock
-- returns  of slots, for each that somebody has or waits for: its number, ms left (-2: nobody has
--          it), how many stand in its queue;
--          of a lock: {1, fencing counter, ms left, owner, hold count, {reader, ms left, ...}, {waiter,
--          mode, ...}}. When nobody has the lock, ms left is -2 and the owner empty; when readers
--          have it, the owner is "shared". Of them, and of those who wait, there are MAX_TOLD at most: the
--          readers who have it the longest, the last of them last, and the first in the queue, of
--          mode 1 for a reader and else 0. Those whose ask is stale are left out, and so is what is too
--          long for an owner. A hold count that nobody can have is 0;
--          NOTLOCK, an error: the key is no lock, see holder.lua, or the counter none, see fence.lua
-- Called for an Inspect or Look command.

local lock = KEYS[1]
if ARGV[1] then
  local found, call = {}, redis.call
  local queues = 'redlock_wait:' .. string.match(lock, '^redlock_slot:(.*)')
  for slot = 0, ARGV[1] - 1 do
    local left, waiters = call('pttl', lock .. slot), call('zcard', queues .. slot)
    if left ~= -2 or waiters > 0 then
      found[#found + 1], found[#found + 2], found[#found + 3] = slot, left, waiters
    end
  end
  return found
end
-- #include names.lua
-- #include holder.lua
-- #include readers.lua
local queue = 'redlock_wait:' .. name
local holder, wrong = holderOf(lock)
if wrong then
  return wrong
end
-- #include fence.lua
local token, crowd, waiters = tonumber(redis.call('get', 'redlock_fence:' .. name) or 0), {}, {}
if not token or not (token >= 0 and token < fenceEnd) then
  return redis.error_reply(noCounter)
end
if holder == 'shared' then
  local all = redis.call('zrange', readers, -MAX_TOLD, -1, 'withscores')
  for i = 1, #all, 2 do
    if tonumber(all[i + 1]) > clock() and #all[i] <= OWNER_SIZE then
      crowd[#crowd + 1], crowd[#crowd + 2] = all[i], all[i + 1] - clock()
    end
  end
end
for _, owner in ipairs(redis.call('zrange', queue, 0, MAX_TOLD - 1)) do
  local ask = owner ~= '' and #owner <= OWNER_SIZE and redis.call('get', queue .. owner)
  if ask then
    waiters[#waiters + 1] = owner
    waiters[#waiters + 1] = string.find(ask, 'shared', 1, true) and 1 or 0
  end
end
local count = holder and holder ~= 'shared' and tonumber(redis.call('hget', lock, holder)) or 0
if not (count >= 0 and count < fenceEnd) then
  count = 0
end
return {
  1, token, redis.call('pttl', lock), holder or '', count, crowd, waiters,
}
