import type { KubeObject } from '../controller-runtime/objects.ts'
import { annotations } from './names.ts'

/** The epoch that an object carries; 0 where there is none, or one that nobody can read: a hand wrote it. */
export function epochOf({ metadata }: KubeObject): number {
  const epoch = Number(metadata.annotations?.[annotations.epoch])
  return Number.isSafeInteger(epoch) ? epoch : 0
}
