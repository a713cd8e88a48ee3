-- release.lua: give back one level of a hold, or all of it.
--
-- KEYS[1]  lock key: a hash, owner -> hold count
-- ARGV[1]  owner, "uuid:seq"
-- ARGV[2]  hold count to keep, 0 to free the lock
-- ARGV[3]  channel that tells Redisson's waiters that the lock is free
-- returns  1 freed, 0 still held, -1 not held by owner
-- Called by Node.Send with a Release command. A repeat changes nothing.

if redis.call('hexists', KEYS[1], ARGV[1]) == 0 then
  return -1
end
if ARGV[2] ~= '0' then
  redis.call('hset', KEYS[1], ARGV[1], ARGV[2])
  return 0
end
redis.call('del', KEYS[1])
redis.call('publish', ARGV[3], '0')
return 1
