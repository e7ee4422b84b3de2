import { Option, type Command } from 'commander'
import { clusterReference, instanceArgument, lineArgument } from '../terminal/arguments.ts'
import type { AskedOptions, NowOptions, StoredOptions } from './backup-options.ts'
import { clusterAsked, storeAsked, withBackupStore } from './store-options.ts'
import { withApi, withDryRun, withOutput } from '../terminal/common-options.ts'
import type { Io } from '../terminal/io.ts'
import { addFind } from './find-command.ts'
import { addLogs } from './logs-command.ts'
import { addRehearse } from './rehearse.ts'
import { addDelete, addPrune } from './remove-commands.ts'

export function addBackup(program: Command, io: Io): void {
  const backup = program.command('backup').description('Make backups of a cluster, and look at those that there are.')
  const all = [addNow, addList, addShow, addWindow, addFind, addVerify, addDelete, addPrune, addRehearse, addLogs]
  for (const add of all) add(backup, io)
}

function addNow(backup: Command, io: Io): void {
  const command = backup
    .command('now')
    .description('Make a base backup into the store that the cluster’s spec names, and return when it is whole.')
    .argument('[cluster]', 'the cluster; <namespace>/<name> on Kubernetes', clusterReference)
    .addOption(
      new Option('--instance <instance>', 'is copied (default: the replica that hurts least)').argParser(
        instanceArgument,
      ),
    )
    .option('--no-wait', 'return when it has begun')
  withApi(withDryRun(command)).action(async (cluster: string | undefined, options: NowOptions) => {
    const { backUpNow } = await import('./now.ts')
    await backUpNow(io, cluster, options)
  })
}

function addList(backup: Command, io: Io): void {
  const command = backup
    .command('list')
    .description('List the backups in a store.')
    .argument('[cluster]', `the cluster that they were made of ${clusterAsked}`, lineArgument(103))
  withApi(withBackupStore(command, storeAsked)).action(async (cluster: string | undefined, options: AskedOptions) => {
    const { listBackups } = await import('./stored.ts')
    await listBackups(io, cluster, options)
  })
}

function addShow(backup: Command, io: Io): void {
  const command = backup
    .command('show')
    .description('Show what one backup is: of which server, of when, what the data hold.')
    .argument('<backup>', 'name of the backup', lineArgument(64))
    .addOption(new Option('--cluster <cluster>', `that it was made of ${clusterAsked}`).argParser(lineArgument(103)))
  withApi(withBackupStore(command, storeAsked)).action(async (name: string, options: AskedOptions) => {
    const { showBackup } = await import('./stored.ts')
    await showBackup(io, name, options)
  })
}

function addWindow(backup: Command, io: Io): void {
  const command = backup
    .command('window')
    .description('Say from when to when a cluster can be restored, and name each hole.')
    .argument('[cluster]', `the cluster that is meant ${clusterAsked}`, lineArgument(103))
  withApi(withBackupStore(command, storeAsked)).action(async (cluster: string | undefined, options: AskedOptions) => {
    const { showWindow } = await import('./window.ts')
    await showWindow(io, cluster, options)
  })
}

function addVerify(backup: Command, io: Io): void {
  const command = backup
    .command('verify')
    .description('Read a backup to its end: lengths, checksums, encryption and signature.')
    .argument('<backup>', 'name of the backup', lineArgument(64))
    .option('--cluster <cluster>', 'that it was made of (default: the only local one)', lineArgument(103))
  withOutput(withBackupStore(command, 'default: the store of the local cluster’s spec')).action(
    async (name: string, options: StoredOptions) => {
      const { verifyStored } = await import('./verify.ts')
      await verifyStored(io, name, options)
    },
  )
}
