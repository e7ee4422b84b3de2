import { anyText, exactly, integer, objectWith, type Shaped } from '#common/input/shapes.ts'
import { saidOfRouter } from '#failover/protocol/router-settings.ts'

/** The file that `regent router --config` reads. */
export const routerFileShape = objectWith({
  version: exactly(1),
  cluster: anyText,
  namespace: anyText,
  /** The number of instances. The instances' names follow from the number while no manager tells them. */
  instances: integer(1, Number.MAX_SAFE_INTEGER),
  /** Address of the managers' API. */
  manager: anyText,
  settings: saidOfRouter,
})

export type RouterFile = Shaped<typeof routerFileShape>

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
