import type { Sentence } from '#common/sentence/sentence.ts'
import type { OperationResult } from '#api-contract/operation-result.ts'
import type { OperationName, OperationRequest } from '#api-contract/operations.ts'
import type { Asking } from './asking.ts'

/** As an operation answers, before it is printed for the place where the cluster is. */
export interface Told extends Pick<OperationResult, 'recovery' | 'backup' | 'rehearsal' | 'instance'> {
  readonly sentence: string | Sentence
  readonly plan?: readonly (string | Sentence)[]
}

export interface Plan {
  /** What a dry run is answered with. */
  readonly would: Told
  act(): Promise<Told>
}

/** There is nothing to do, and why. */
interface Needless {
  readonly needless: string
}

/**
 * Says what would be done and changes nothing; throws what stands in the way. At once, so that what is done is what was
 * planned: nobody else asks between.
 */
export type Performer<N extends OperationName> = (asking: Asking, request: OperationRequest<N>) => Plan | Needless
