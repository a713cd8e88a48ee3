-- leaveshared.lua: free a lock that its only reader gives back, and that nobody waits for.
--
-- KEYS[-]  lock queue, and readers, see readers.lua: it has one owner, who gives the lock back
-- returns  answer: 1 freed, or an error; nothing if readers do not have the lock
-- Called by call.lua, which carries it inside.

local fields = call('hrandfield', lock, '2')
if fields[1] == 'mode' and not fields[2] and call('hget', lock, 'mode') == 'shared' then
  answer = call('del', lock, readers)
  if type(answer) == 'number' then
    -- #include freed.lua
  end
end
