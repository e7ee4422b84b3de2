import { Type, type Static } from 'typebox'
import { routerSettingsSchema } from '#failover/protocol/router-settings.ts'

/** The file that `regent router --config` reads. */
export const routerFileSchema = Type.Object({
  version: Type.Literal(1),
  cluster: Type.String(),
  namespace: Type.String(),
  /** The number of instances. The instances' names follow from the number while no manager tells them. */
  instances: Type.Integer({ minimum: 1 }),
  /** Address of the managers' API. */
  manager: Type.String(),
  settings: routerSettingsSchema,
})

export type RouterFile = Static<typeof routerFileSchema>

export const routerFile = 'router.json'

/** Places of files in a router's pod. */
export const routerPaths = {
  config: '/etc/regent-router',
  secrets: '/etc/regent-secrets',
  certificates: '/etc/regent-certificates',
  run: '/run/regent-router',
} as const

/** Ports of a router in its pod. */
export const routerPorts = { write: 3306, read: 3307, probes: 9402 } as const
