import type { Command } from 'commander'
import type { Io } from '../terminal/io.ts'
import { addDown } from './down-command.ts'
import { addFault } from './fault-command.ts'
import { addList } from './list-command.ts'
import { addLogs } from './logs-command.ts'
import { addScale } from './scale-command.ts'
import { addDump, addSql } from './sql-command.ts'
import { addStatus } from './status-command.ts'
import { addSupervise } from './supervise-command.ts'
import { addUp } from './up-command.ts'

/** Clusters that run on this machine. */
export function addLocal(program: Command, io: Io): void {
  const local = program.command('local').description('Run clusters on this machine.')
  for (const add of [addUp, addStatus, addFault, addScale, addDown, addList, addLogs, addSql, addDump, addSupervise])
    add(local, io)
}
