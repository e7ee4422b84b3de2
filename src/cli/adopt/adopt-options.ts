import type { listenArgument } from '../terminal/arguments.ts'
import type { OutputOptions } from '../terminal/common-options.ts'

export interface AdoptOptions extends OutputOptions {
  readonly mha?: string
  readonly mhaGlobal?: string
  readonly from?: string
  readonly name?: string
  readonly user?: string
  readonly passwordFile?: string
  readonly check?: true
  readonly port?: number
  readonly orchestrator?: string
  readonly orchestratorListen?: ListenAt
  readonly orchestratorHosts?: 'address' | 'name'
  readonly orchestratorLoginFile?: string
  readonly orchestratorReadOnly?: true
  readonly orchestratorAlso?: readonly string[]
}

type ListenAt = ReturnType<typeof listenArgument>
