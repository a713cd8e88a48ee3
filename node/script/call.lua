-- call.lua: carry out steps, one after the other.
--
-- KEYS[-]  the keys of the steps, one step after the other
-- ARGV[1]  what the steps are: a letter for each
-- ARGV[-]  the arguments of the steps, one step after the other
-- returns  the answer to the step if there is only one, else an array with the answer to
--          each. An error is the answer to its own step, and the others run.
-- Called by Node.Send, which puts commands that have gathered into one call.
--
-- Each step is described in a file of its own:
--
--   step                     keys                arguments
--   a  acquire.lua           lock queue counter  owner lease proposal
--   w  the same, first ask   lock queue counter  owner lease proposal since short round
--   W  the same, later ask   lock queue counter  owner lease proposal since short round
--   q  the same, no acquire  lock queue counter  owner proposal since short round
--   r  release.lua           lock queue          owner token
--   R  the same, waited      lock queue          owner token
--   t  the same, to another  lock queue          owner token next proposal since short round
--   T  the same, waited      lock queue          owner token next proposal since short round
--   f  the same, by force    lock queue          token
--   n  renew.lua             lock counter        owner lease token count
--   N  the same, no heal     lock counter        owner lease token count
--   e  enter.lua             lock                owner lease count
--   c  raise.lua             lock counter        owner lease token
--   i  inspect.lua           lock queue counter
--
-- Those of readers, where what is not said is empty:
--
--   b  share.lua             lock queue counter  owner lease proposal since short round
--   l  release.lua           lock queue          owner token
--   L  the same, to another  lock queue          owner token next proposal since short round
--   h  keep.lua              lock queue counter  owner lease token
--   H  the same, no heal     lock queue counter  owner lease token
--   E  the same, to enter    lock                owner lease count
--   C  raise.lua             lock counter        owner lease token
--
-- Those of a semaphore are in permit.lua. Each has the keys slots queue counters:
--
--   step                     arguments
--   p  acquireslot.lua       owner lease proposal permits start
--   P  the same, an ask      owner lease proposal permits start since short round
--   k  the same, no acquire  owner proposal permits start since short round
--   d  releaseslot.lua       owner token slot
--   D  the same, waited      owner token slot
--   g  the same, to another  owner token slot next proposal permits start since short round
--   G  the same, waited      owner token slot next proposal permits start since short round
--   v  the same, giving way  owner token slot next proposal permits start since short round
--   x  the same, by force    token slot
--   m  renewslot.lua         owner lease token slot
--   M  the same, no heal     owner lease token slot
--   u  raiseslot.lua         owner lease token slot
--   s  inspectslots.lua
--
-- Most steps find a lock that is free and that nobody waits for, or renew one for its holder.
-- They are carried out here. What the others need is made when the first of them comes.

-- #include fence.lua

-- An error must not end the call. So what is done here raises none.
local call, keys, args = redis.pcall, KEYS, ARGV
local steps = args[1]
local k, a = 0, 1 -- the keys and arguments before those of the step
local answers = {}
local lease, ttl -- the last lease, and how long a counter lasts with it
local holderOf, forcedKey, enter, notify, handOff, acquire, release, permit
local needReaders, readers, reads, settle, join, share, now -- see readers.lua

for i = 1, #steps do
  local step = #steps == 1 and steps or string.sub(steps, i, i)
  local lock, queue = keys[k + 1], nil
  local width, length -- how many keys and arguments it has
  local answer, granted, extended, freed, there
  local ok = true

  if step == 'a' or step == 'w' then
    width, length, queue = 3, step == 'a' and 3 or 6, keys[k + 2]
    granted = call('exists', lock, queue) == 0
  elseif step == 'r' or step == 'R' then
    width, length, queue = 2, 2, keys[k + 2]
    freed, there = call('hdel', lock, args[a + 1]), call('exists', lock, queue)
    if there == 0 then
      answer = freed == 0 and -1 or freed
      if freed == 1 then
        -- #include freed.lua
      end
    end
  elseif step == 'n' or step == 'N' then
    width, length = 2, 4
    local fields = call('hrandfield', lock, '2')
    if fields[1] == args[a + 1] and not fields[2] then
      answer, extended = 1, true
    end
  elseif step == 'W' or step == 'q' then
    width, length, queue = 3, step == 'W' and 6 or 5, keys[k + 2]
  elseif step == 't' or step == 'T' or step == 'f' then
    width, length, queue = 2, step == 'f' and 1 or 7, keys[k + 2]
  elseif step == 'b' then
    width, length, queue = 3, 6, keys[k + 2]
    readers = 'redlock_read:' .. string.sub(queue, #'redlock_wait:' + 1)
    if args[a + 2] ~= '' and call('exists', lock, queue, readers) == 0 then
      -- #include grantshared.lua
    else
      there = call('exists', lock, queue)
      freed = there == 0
      there = freed or there == 1 and call('hget', lock, 'mode') == 'shared'
    end
  elseif step == 'l' then
    width, length, queue = 2, 2, keys[k + 2]
    readers = 'redlock_read:' .. string.sub(queue, #'redlock_wait:' + 1)
    there = call('exists', queue)
    local first = there == 0 and call('zrange', readers, '0', '1')
    if first and first[1] == args[a + 1] and not first[2] then
      -- #include leaveshared.lua
    end
  elseif step == 'L' then
    width, length, queue = 2, 7, keys[k + 2]
  elseif step == 'h' or step == 'H' then
    width, length, queue = 3, 3, keys[k + 2]
  elseif step == 'i' then
    width, length = 3, 0
  elseif string.find('eEcC', step, 1, true) then
    width, length = (step == 'c' or step == 'C') and 2 or 1, 3
  else
    width, length = 3, 4 -- of m, M and u
    if step == 'p' or step == 'P' then
      length = step == 'p' and 5 or 8
    elseif step == 'd' or step == 'D' then
      length = 3
    elseif step == 'g' or step == 'G' or step == 'v' then
      length = 10
    elseif step == 'k' then
      length = 7
    elseif step == 'x' or step == 's' then
      length = step == 'x' and 2 or 0
    end
    if not permit then
      -- #include permit.lua
    end
    ok, answer = pcall(permit, step, lock, keys[k + 2], keys[k + 3], a)
  end

  if not granted and not answer then
    local run
    if (not freed or there == 2) and not holderOf then
      -- #include holder.lua
    end
    if (step == 'n' or step == 'h' or step == 'f') and not forcedKey then
      -- #include forced.lua
    end
    -- A reader meets nobody in the queue.
    local nobody = step == 'l' and there == 0 or step == 'b' and there == true and args[a + 2] ~= ''
    if queue and not nobody and not handOff then
      -- #include queue.lua
    end
    if not needReaders then
      function needReaders(lock)
        -- #include readers.lua
      end
    end
    if string.find('blLhHECfi', step, 1, true) then
      needReaders(lock)
    end
    if step == 'b' then
      if not share then
        -- #include share.lua
      end
      run = share
    elseif step == 'h' or step == 'H' or step == 'E' then
      -- #include keep.lua
    elseif step == 'i' then
      -- #include inspect.lua
    elseif width == 3 then
      if not acquire then
        -- #include acquire.lua
      end
      run = acquire
    elseif queue then
      if not release then
        -- #include release.lua
      end
      run = release
    elseif step == 'e' then
      -- #include enter.lua
    elseif step == 'c' or step == 'C' then
      -- #include raise.lua
    else
      -- #include renew.lua
    end
    ok, answer = pcall(run, step, lock, queue, k, a, freed, there)
    granted = answer == nil
    extended = step == 'n' and answer == 2 or (step == 'h' or step == 'H') and (answer == 1 or answer == 2)
  end

  if granted or extended then
    local counter, token = keys[k + width], args[a + 3]
    if args[a + 2] ~= lease then
      lease = args[a + 2]
      ttl = lease + fenceTTL .. '' -- Redis takes longer to write a number
    end
    if extended then
      -- #include extend.lua
    else
      -- #include grant.lua
    end
  end

  if not ok then
    answer = type(answer) == 'string' and redis.error_reply(answer) or answer
    -- In miniredis, which tests use, functions that were made before an error share no local with those that
    -- are made after it. So they are all made anew.
    holderOf, forcedKey, enter, notify, handOff, acquire, release, permit = nil
    needReaders, reads, settle, join, share = nil
  end

  answers[i] = answer
  k, a = k + width, a + length
end

return #steps == 1 and answers[1] or answers
