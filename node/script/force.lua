-- force.lua: free a lock, whoever has it, and hand it on, as in release.lua.
--
-- KEYS[1]  lock, the lock key: a hash, owner -> hold count
-- ARGV[1]  token: whoever has the lock next gets one above it; empty to hand it to nobody
-- returns  1 freed, 0 nobody had it;
--          NOTLOCK, an error: the key is no lock, see holder.lua, and was left alone
-- Called for a Force command, which is not repeated.

local lock, token = KEYS[1], ARGV[1]
-- #include names.lua
-- #include freed.lua
local queue = 'redlock_wait:' .. name
-- #include handon.lua
local holder, wrong = holderOf(lock)
if wrong then
  return wrong
end
local owners = {holder, redis.call('pttl', lock)} -- each with how long it would have had it
if holder == 'shared' then
  owners = {}
  local all = redis.call('zrange', readers, 0, -1, 'withscores')
  for i = 1, #all, 2 do
    if tonumber(all[i + 1]) > clock() then
      owners[#owners + 1], owners[#owners + 2] = all[i], all[i + 1] - clock()
    end
  end
  redis.call('del', readers)
end
local mine = holder and redis.call('del', lock) == 1
for i = 1, holder and #owners or 0, 2 do
  if owners[i + 1] > 0 then -- after the deletion, or a full master would refuse both
    -- The owner's renewals must not set the lock again for as long as its lease would have lasted.
    -- Each owner has a mark of its own, since the next one may be forced out as well.
    redis.call('set', 'redlock_forced:' .. name .. owners[i], 1, 'px', math.min(owners[i + 1], FENCE_END))
  end
  leave(owners[i])
end
local answer = handOn(nil, token, mine, true)
wanted(holder)
return answer
