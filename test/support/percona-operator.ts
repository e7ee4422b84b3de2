import { expect } from 'vitest'

/** What Percona’s operator for MySQL reads of an instance. */
export interface OperatorInstance {
  readonly Key: { readonly Hostname: string; readonly Port: number }
  readonly InstanceAlias: string
  readonly MasterKey: { readonly Hostname: string; readonly Port: number }
  readonly Replicas: readonly { readonly Hostname: string; readonly Port: number }[]
  readonly ReadOnly: boolean
  readonly Problems: readonly string[]
  readonly IsDowntimed: boolean
  readonly DowntimeReason: string
  readonly DowntimeOwner: string
  readonly DowntimeEndTimestamp: string
  readonly ElapsedDowntime: number
}

interface OperatorEnvelope {
  readonly Code: string
  readonly Message: string
}

const key = { Hostname: expect.any(String) as string, Port: expect.any(Number) as number }
/** Go reads no other types into these fields. */
const typed = {
  ...{
    Key: key,
    InstanceAlias: expect.any(String) as string,
    MasterKey: key,
    ReadOnly: expect.any(Boolean) as boolean,
  },
  ...{
    Replicas: expect.any(Array) as [],
    Problems: expect.any(Array) as [],
    IsDowntimed: expect.any(Boolean) as boolean,
  },
  ...{ DowntimeReason: expect.any(String) as string, DowntimeOwner: expect.any(String) as string },
  ...{ DowntimeEndTimestamp: expect.any(String) as string, ElapsedDowntime: expect.any(Number) as number },
}

/** Of what discover refuses, what the operator takes for a server that is not ready yet. */
export const notReady = /^Unauthorized$|no such host|i\/o timeout|driver: bad connection/

/** Calls as the operator makes them, by `curl -s` in a pod of orchestrator’s, and reads as that reads the answers. */
export class PerconaOperator {
  readonly #base: string
  /** Each path that was asked for. */
  readonly asked: string[] = []

  constructor(port: number) {
    this.#base = `http://127.0.0.1:${port}`
  }

  /** Probes of the pod look at the status only. */
  async status(path: string): Promise<number> {
    return (await fetch(`${this.#base}/${path}`)).status
  }

  /** Whatever is an object is read as an instance: of what is refused nothing has a name. */
  async clusterPrimary(hint: string): Promise<OperatorInstance | undefined> {
    return instanceIn(await this.#ask(`master/${hint}`))
  }

  async instance(host: string, port: number): Promise<OperatorInstance | undefined> {
    return instanceIn(await this.#ask(`instance/${host}/${port}`))
  }

  /** Rejects with the message where no list comes. */
  async cluster(hint: string): Promise<readonly OperatorInstance[]> {
    const body = await this.#ask(`cluster/${hint}`)
    if (!Array.isArray(body)) throw new Error((body as OperatorEnvelope).Message)
    for (const one of body) expect(one).toMatchObject(typed)
    return body as readonly OperatorInstance[]
  }

  /** '' once done, otherwise the message of the refusal. */
  async call(path: string): Promise<string> {
    const body = (await this.#ask(path)) as OperatorEnvelope
    expect(body).toMatchObject({
      Code: expect.stringMatching(/^(OK|ERROR)$/) as string,
      Message: expect.any(String) as string,
    })
    return body.Code === 'OK' ? '' : body.Message
  }

  /** The operator’s own: a takeover unless that one leads already. */
  async ensurePrimary(hint: string, name: string, { host, port }: { readonly host: string; readonly port: number }) {
    const primary = await this.clusterPrimary(hint)
    if (primary?.InstanceAlias === name) return ''
    return this.call(`graceful-master-takeover-auto/${hint}/${host}/${port}`)
  }

  /** What the operator says of a cluster that is not ready: problems of instances that are not in downtime. */
  async problems(hint: string): Promise<string> {
    const all = await this.cluster(hint)
    const those = all.filter(({ IsDowntimed, Problems }) => !IsDowntimed && Problems.length > 0)
    return those.map(({ InstanceAlias, Problems }) => `${InstanceAlias}: [${Problems.join(', ')}]`).join(', ')
  }

  async #ask(path: string): Promise<unknown> {
    this.asked.push(path)
    const text = await (await fetch(`${this.#base}/api/${path}`)).text()
    return JSON.parse(text) as unknown
  }
}

function instanceIn(body: unknown): OperatorInstance | undefined {
  if (typeof body !== 'object' || body === null || !('InstanceAlias' in body)) return undefined
  expect(body).toMatchObject(typed)
  return body as OperatorInstance
}
