import { Type, type Static } from 'typebox'
import { routerSettingsSchema } from '#failover/protocol/router-settings.ts'

/** What `regent router --config` reads. */
export const routerFileSchema = Type.Object({
  version: Type.Literal(1),
  cluster: Type.String(),
  namespace: Type.String(),
  /** So many there are to be: their names follow from that while no manager tells them. */
  instances: Type.Integer({ minimum: 1 }),
  /** Address of the managers' API. */
  manager: Type.String(),
  settings: routerSettingsSchema,
})

export type RouterFile = Static<typeof routerFileSchema>

export const routerFile = 'router.json'

/** Where things lie in a router's pod. */
export const routerPaths = {
  config: '/etc/regent-router',
  secrets: '/etc/regent-secrets',
  certificates: '/etc/regent-certificates',
  run: '/run/regent-router',
} as const

/** Where a router listens in its pod. */
export const routerPorts = { write: 3306, read: 3307, probes: 9402 } as const
