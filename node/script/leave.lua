-- leave.lua: give back a lock that a reader shares, or give up waiting for it. What the others who
-- read leave free is handed on, as in release.lua.
--
-- KEYS[1]  lock, the lock key, see readers.lua
-- ARGV[1]  owner, who may be in the queue in any case; ARGV[2] token; ARGV[4] next, and what is
--          behind it: as release.lua has them
-- returns  1 freed, -1 not held by owner;
--          NOTLOCK, an error: the key is no lock, see holder.lua, and was left alone
-- Called for a Release, Yield, ReleaseTo or YieldTo command of a reader. It also frees a lock that
-- owner has alone. A repeat changes nothing, but hands off a lock that has become free since.

local lock, owner, token, next = KEYS[1], ARGV[1], ARGV[2], ARGV[4]
-- #include names.lua
-- #include freed.lua
local queue = 'redlock_wait:' .. name
local there = redis.call('exists', queue)
if there == 0 and not next then
  -- The last reader leaves a lock that nobody waits for.
  local readers = 'redlock_read:' .. name
  local first = redis.call('zrange', readers, '0', '1')
  if first[1] == owner and not first[2] then
    local fields = redis.call('hrandfield', lock, '2', 'withvalues')
    if fields[1] == 'mode' and fields[2] == 'shared' and not fields[3] then
      redis.call('del', lock, readers)
      redis.call('publish', freed, note)
      return 1
    end
  end
end

local mine = false
-- #include handon.lua
local holder, wrong = holderOf(owner)
if holder == owner then
  mine, holder = redis.call('hdel', lock, owner) == 1, nil
elseif holder == 'shared' and reads(owner) then
  mine = redis.call('zrem', readers, owner) == 1
  holder = settle() and holder or nil
end
-- It leaves before next enters, as in release.lua.
if there ~= 0 then
  leave(owner)
end
if wrong then
  return wrong
end
if next then
  enterNext(holder)
end
return handOn(holder)
