import manifest from '../../package.json' with { type: 'json' }

/** The version of this Regent. */
export const regentVersion: string = manifest.version
