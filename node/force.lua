-- force.lua: free the lock, whoever has it.
--
-- KEYS[1]  lock key: a hash, owner -> hold count
-- ARGV[1]  channel that tells Redisson's waiters that the lock is free
-- returns  1 freed, 0 nobody had it
-- Called by Node.Send with a Force command. A repeat would free the next owner's
-- hold, so it is never repeated.

-- Fails on a key that is no lock, so that it is not deleted.
if redis.call('hlen', KEYS[1]) == 0 then
  return 0
end
redis.call('del', KEYS[1])
redis.call('publish', ARGV[1], '0')
return 1
