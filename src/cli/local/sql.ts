import { spawn } from 'node:child_process'
import { mkdtemp, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { RegentError } from '../../common/errors.ts'
import { findCluster, type FoundCluster } from '../../local/cluster-index.ts'
import { replaceFile } from '../../local/durable-file.ts'
import { readRoute } from '../../local/routes.ts'
import { adminUser, readSecret } from '../../local/secrets.ts'
import { layoutOf } from '../../local/state-layout.ts'

/**
 * Runs the mysql client with this process's terminal. The password goes through a 0600 file that is removed when the
 * client ends: what is in argv can be read by everybody.
 */
export async function sql(name: string | undefined, on: string | undefined): Promise<void> {
  const found = await findCluster(name)
  const { address, port, wrapper } = await addressFor(found, on)
  const layout = layoutOf(found.dir)
  const folder = await mkdtemp(join(layout.run, 'sql-'))
  try {
    const options = join(folder, 'client.cnf')
    await replaceFile(options, `[client]\nuser=${adminUser}\npassword="${await readSecret(layout.adminPassword)}"\nhost=${address}\nport=${port}\nprotocol=tcp\n`)
    const [program = '', ...rest] = [...wrapper, ...found.cluster.mysql.mysql]
    process.exitCode = await runClient(program, [...rest, `--defaults-file=${options}`])
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}

async function addressFor({ dir, cluster }: FoundCluster, on: string | undefined): Promise<{ address: string; port: number; wrapper: readonly string[] }> {
  const route = on === undefined ? await readRoute(layoutOf(dir).routes) : undefined
  const instance = cluster.instances.find((one) => one.name === (on ?? route?.instance))
  if (instance !== undefined) return { address: instance.address, port: instance.port, wrapper: instance.wrapper }
  if (on === undefined) throw new RegentError('REGENT_REFUSED', `no primary of ${cluster.name} is published; name an instance with --on: ${cluster.instances.map((one) => one.name).join(', ')}`)
  throw new RegentError('REGENT_NOT_FOUND', `cluster ${cluster.name} has no instance "${on}"; it has ${cluster.instances.map((one) => one.name).join(', ')}`)
}

/** Resolves to the client's exit code. Ctrl-C is the client's to answer. */
async function runClient(program: string, parameters: readonly string[]): Promise<number> {
  const ignore = () => undefined
  process.on('SIGINT', ignore)
  try {
    return await new Promise<number>((resolve, reject) => {
      const client = spawn(program, parameters, { stdio: 'inherit' })
      client.once('error', (error) => reject(new RegentError('REGENT_REFUSED', `the mysql client ${program} cannot be started: ${error.message}`, { cause: error })))
      client.once('exit', (code) => resolve(code === 0 ? 0 : 1))
    })
  } finally {
    process.off('SIGINT', ignore)
  }
}
