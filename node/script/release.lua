-- release.lua: give a lock back, or give up waiting. If it is free then, it is handed to the first
-- in the queue; if readers have it, to the readers who are first there.
--
-- KEYS[1]  lock, the lock key: a hash, owner -> hold count
-- ARGV[1]  owner, "uuid:rN"
-- ARGV[2]  token: owner's fencing token, or the one it proposed; empty to hand the lock to nobody,
--          as a guarded master must
-- ARGV[3]  "waited" if owner may be in the queue; else empty, or missing
-- ARGV[4]  next, if owner's client goes on waiting: who enters the queue, and behind it proposal
--          and ask, see queue.lua
-- returns  1 freed, -1 not held by owner;
--          NOTLOCK, an error: the key is no lock, see holder.lua, and was left alone
-- If the hash has become something else than a lock, only the owner's field is deleted.
-- Called for a Release, Yield, ReleaseTo or YieldTo command. A repeat changes nothing, but hands
-- off a lock that has become free since.

local lock, owner, token, next = KEYS[1], ARGV[1], ARGV[2], ARGV[4]
-- #include names.lua
-- #include freed.lua
local queue = 'redlock_wait:' .. name
local mine, there = redis.call('hdel', lock, owner) == 1, redis.call('exists', lock, queue)
if there == 0 and not next then
  if not mine then
    return -1
  end
  redis.call('publish', freed, note)
  return 1
end

-- #include handon.lua
local holder, wrong
if next then
  holder, wrong = holderOf(next)
end
-- Even if it had the lock: a renewal may have healed it while it waited. It leaves before next enters, or
-- a full master would refuse both.
local left = ARGV[3] == 'waited' and leave(owner)
if next and not wrong then
  enterNext(holder)
elseif there == 2 then -- if it is the only one of the two, there is nobody to hand it to
  holder = left and holderOf() or lock
end
if wrong then
  return mine and 1 or wrong
end
return handOn(holder)
