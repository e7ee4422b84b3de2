import { Option, type Command } from 'commander'
import type { BackupStore } from '#failover/protocol/backup-store.ts'
import { lineArgument, pathArgument } from '../terminal/arguments.ts'

/** Where backups lie, as the command line says. */
export interface BackupStoreOptions {
  readonly from?: string
  readonly endpoint?: string
  readonly region?: string
  readonly pathStyle?: true
  readonly caFile?: string
  readonly credentials?: string
  readonly keyFile?: string
  readonly allowPlain?: true
}

const longest = 1_024

/** Words about commands that a manager can answer, too. */
export const storeAsked =
  'default: the store of the local cluster’s spec; of a cluster elsewhere an agent reads its own store'
export const clusterAsked = '(default: the only one there); <namespace>/<name> on Kubernetes; with --from its folder'

/** @param usual what counts where `--from` is not given */
export function withBackupStore(command: Command, usual: string): Command {
  const text = lineArgument(longest)
  return command
    .addOption(
      new Option('--from <address>', `where backups lie: a folder, or s3://bucket/prefix (${usual})`).argParser(text),
    )
    .addOption(new Option('--endpoint <url>', 'S3 server (default: that of AWS for the region)').argParser(text))
    .addOption(new Option('--region <region>', 'region of the bucket (default: us-east-1)').argParser(text))
    .option('--path-style', 'the bucket is a part of the path, as most other servers than AWS want')
    .addOption(
      new Option('--ca-file <file>', 'authority of the store’s certificate (default: those of Node.js)').argParser(
        pathArgument,
      ),
    )
    .addOption(
      new Option(
        '--credentials <folder>',
        'folder with the files accessKeyId and secretAccessKey (default: the environment’s)',
      ).argParser(pathArgument),
    )
    .addOption(
      new Option(
        '--key-file <file>',
        'key that backups are encrypted with; several, the newest first, are a line each (default: none)',
      ).argParser(pathArgument),
    )
    .option(
      '--allow-plain',
      'with a key, take also what is not encrypted or not signed, since before there was a key or by an older Regent',
    )
}

/** Undefined where no address is said. */
export function storeSaid(options: BackupStoreOptions): BackupStore | undefined {
  const { from, endpoint, region, pathStyle, caFile, credentials, keyFile, allowPlain } = options
  if (from === undefined) return undefined
  return {
    address: from,
    ...(endpoint === undefined ? {} : { endpoint }),
    ...(region === undefined ? {} : { region }),
    ...(pathStyle === undefined ? {} : { pathStyle }),
    ...(caFile === undefined ? {} : { caFile }),
    ...(credentials === undefined ? {} : { credentialsFolder: credentials }),
    ...(keyFile === undefined ? {} : { encryptionKeyFile: keyFile }),
    ...(allowPlain === undefined ? {} : { allowPlain }),
  }
}
