-- release.lua: give a lock back, or give up waiting. If it is free then, it is handed to the first
-- in the queue; if readers have it, to the readers who are first there.
--
-- KEYS[1]  lock, the lock key: a hash, owner -> hold count; of readers, see readers.lua
-- ARGV[1]  owner, "uuid:rN"
-- ARGV[2]  token: owner's fencing token, or the one it proposed; empty to hand the lock to nobody,
--          as a guarded master must
-- ARGV[3]  "shared" if owner is a reader, and "waited" if it is none and may be in the queue; else
--          empty, or missing
-- ARGV[4]  next, if owner's client goes on waiting: who enters the queue; behind it proposal, ask
--          and "shared", as acquire.lua has them
-- returns  1 freed, 0 not held by owner;
--          NOTLOCK, an error: the key is no lock, see holder.lua, and was left alone
-- If the hash has become something else than a lock, only the field of a writer is deleted.
-- Called for a Release or a Yield. That of a reader also frees what it has alone. A repeat changes nothing, but hands off a lock that has become free since.

local lock, owner, token, next = KEYS[1], ARGV[1], ARGV[2], ARGV[4]
local shared = ARGV[3] == 'shared'
-- #include names.lua
-- #include freed.lua
local queue = 'redlock_wait:' .. name
local mine = not shared and redis.call('hdel', lock, owner) == 1
local there = shared and 1 or redis.call('exists', lock, queue)
if there == 0 and not next then
  if not mine then
    return 0
  end
  redis.call('publish', freed, note)
  return 1
end
local waits = there == 2 or there == 1 and redis.call('exists', queue) == 1
if shared and not waits and not next then
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

-- #include handon.lua
local holder, wrong
if shared or there == 2 or not waits then -- else the lock is free
  holder, wrong = holderOf(lock, owner)
end
if shared and holder == owner then
  mine, holder = redis.call('hdel', lock, owner) == 1, nil
elseif shared and holder == 'shared' and reads(owner) then
  mine = redis.call('zrem', readers, owner) == 1
  holder = settle() and holder or nil
end
-- Even if it had the lock: a renewal may have healed it while it waited. It leaves before next enters, or
-- a full master would refuse both.
if waits and (shared or ARGV[3] == 'waited') then
  leave(owner)
end
if wrong then
  return mine and 1 or wrong
end
-- If next has the lock by now, this is a repeat.
if next and holder ~= next and not (holder == 'shared' and reads(next)) then
  enter(next, unpack(ARGV, 5, 7))
  waits = true
end
return handOn(holder, token, mine, waits)
