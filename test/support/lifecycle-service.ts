import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { ActionResponse } from '#agents/lifecycle/wire/calls.ts'
import type { TestCluster } from './cluster.ts'
import { reconfigureAgents } from './lifecycle-agents.ts'

const token = 'token-of-the-lifecycle-actions-of-this-test'

export interface ActionCall {
  readonly action: string
  readonly parameters?: Readonly<Record<string, string>>
  readonly timeoutSeconds?: number
}

/** Lifecycle actions of all agents of a cluster, beside their servers. */
export class LifecycleService {
  readonly #cluster: TestCluster
  /** Of the token: `regent local down --purge` leaves what is not its own in a cluster's folder. */
  readonly #folder: string

  private constructor(cluster: TestCluster, folder: string) {
    this.#cluster = cluster
    this.#folder = folder
  }

  /** Agents find lifecycle actions in their configuration when they start. */
  static async begin(cluster: TestCluster): Promise<LifecycleService> {
    const folder = await mkdtemp(join(tmpdir(), 'regent-lifecycle-'))
    const tokenFile = join(folder, 'token')
    await writeFile(tokenFile, token, { mode: 0o600 })
    const names = (await cluster.status()).instances.map(({ name }) => name)
    await reconfigureAgents(cluster, names, { lifecycle: { tokenFile } })
    return new LifecycleService(cluster, folder)
  }

  /** Rejects where the answer is none of an action. */
  async call(instance: string, body: ActionCall): Promise<ActionResponse> {
    const { host } = await this.#cluster.instance(instance)
    const answered = await fetch(`http://${host}:3501/v1.0/action`, {
      method: 'POST',
      headers: { authorization: `Bearer ${token}` },
      body: JSON.stringify(body),
      signal: AbortSignal.timeout(((body.timeoutSeconds ?? 30) + 10) * 1_000),
    })
    if (answered.status !== 200) throw new Error(`${body.action} was answered with ${answered.status}`)
    return (await answered.json()) as ActionResponse
  }

  /** What an action wrote. Rejects with its message where it failed. */
  async output(instance: string, body: ActionCall): Promise<string> {
    const { error, message, output = '' } = await this.call(instance, body)
    if (error !== undefined) throw new Error(message)
    return Buffer.from(output, 'base64').toString()
  }

  /** By instance, what `roleProbe` says. */
  async roles(): Promise<Readonly<Record<string, string>>> {
    const { instances } = await this.#cluster.status()
    const said = instances.map(async ({ name }) => [name, await this.output(name, { action: 'roleProbe' })])
    return Object.fromEntries((await Promise.all(said)) as [string, string][])
  }

  end(): Promise<void> {
    return rm(this.#folder, { recursive: true })
  }
}
