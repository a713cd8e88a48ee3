-- release.lua: give the lock back, or give up waiting. A lock that is then free is
-- handed to the first in the queue.
--
-- KEYS[1]  lock key: a hash, owner -> hold count
-- KEYS[2]  fencing counter of the lock
-- KEYS[3]  queue, see queue.lua
-- KEYS[4]  Redisson's turn, see queue.lua
-- ARGV[1]  owner, "uuid:rN"; empty: whoever has the lock
-- ARGV[2]  owner's fencing token, or the one it proposed; empty to hand the lock to
--          nobody, as a guarded master must
-- ARGV[3]  when owner began to wait, in us, 0 if it never did
-- ARGV[4]  who enters the queue, since owner's client goes on waiting; else there are no
--          more
-- ARGV[5]  entry of that one, see queue.lua
-- returns  1 freed, -1 not held by owner;
--          NOTLOCK, an error: the key is no lock, see holder.lua, and was left alone
-- If the hash has become something else than a lock, only the owner's field is deleted.
-- Called by Node.Send with a Release or a Force command. A repeat changes nothing, but
-- hands off a lock that has become free since; a Force is not repeated.

local lock, counter, queue, turn = KEYS[1], KEYS[2], KEYS[3], KEYS[4]
local owner, token, since, entrant, entry = ARGV[1], ARGV[2], ARGV[3], ARGV[4], ARGV[5]

-- notifyRedisson says that the lock is free, on the channel that Redisson's waiters
-- subscribe to, and returns how many received it. Redisson puts a name into braces unless
-- it has some.
local function notifyRedisson()
  local name = string.find(lock, '{', 1, true) and lock or '{' .. lock .. '}'
  return redis.call('publish', 'redisson_lock__channel:' .. name, '0')
end

local holder, wrong
local left = 0
if owner == '' or entrant then
  -- #include holder.lua
  holder, wrong = holderOf(lock, owner)
end
if owner == '' then
  if wrong then
    return wrong
  end
  owner, left = holder or '', redis.call('pttl', lock)
end
local mine = redis.call('hdel', lock, owner) == 1
if left > 0 then
  -- Freed by force: the owner's renewals must not set it again for as long as its lease would
  -- have lasted. This comes after the deletion, or a full master would refuse both. Each owner
  -- has a key of its own, since the next one may be forced out as well.
  -- #include forced.lua
  redis.call('set', forcedKey(lock, owner), 1, 'px', left)
end

-- Nobody waits for most locks. What follows is for the others.
if not entrant and redis.call('exists', queue) == 0 then
  if mine then
    notifyRedisson()
  end
  return mine and 1 or -1
end

-- #include fence.lua
-- #include queue.lua

if wrong then
  leave(owner, since)
  return mine and 1 or wrong
end
-- A repeat must not enter an owner that has the lock by now, or is in the queue.
if entrant and holder ~= entrant then
  leave(entrant, string.match(entry, ' (%d+) '))
  enter(entrant, entry)
end
leave(owner, since) -- even if it had the lock: a renewal may have healed it while it waited
-- What is left at the key is not ours to hand off.
local rest = mine and redis.call('exists', lock) or redis.call('exists', lock, turn)
if rest > 0 then
  return mine and 1 or -1
end
if token == '' then
  if mine then
    notifyRedisson()
  end
  return mine and 1 or -1
end

-- Redisson's clients cannot enter the queue. So if any of them wait, one hold in seven leaves
-- the key free for a moment when it ends, and the first in the queue looks again afterwards.
-- Tokens follow a clock, so seven: no usual step of clocks is a multiple of it.
if mine and tonumber(token) % 7 == 0 then
  local first = string.match(redis.call('zrange', queue, 0, 0)[1] or '', '^%S+')
  if first and notifyRedisson() > 0 then
    redis.call('set', turn, 1, 'px', 20)
    notify(first, 0, 0)
    return 1
  end
end

local next = handOff(token)
if mine and not next then
  notifyRedisson()
end
return mine and 1 or -1
