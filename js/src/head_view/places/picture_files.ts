import type { EncodedPicture } from "../../shared/encoded_picture.js";
import type { WireMedia } from "../../shared/places/place_types.js";
import { asUint8 } from "../../shared/wire.js";
import type { ViewState } from "../state.js";

const files = new WeakMap<WireMedia, EncodedPicture[]>();

/** Return the pictures of the input as encoded files, read once from their bytes. */
export function picturesOf({ _media: media }: Pick<ViewState, "_media">): EncodedPicture[] {
  if (!media) return [];
  const made =
    files.get(media) ??
    media.pictures.map(({ file, type, across }) => {
      const bytes = asUint8(file) as Uint8Array<ArrayBuffer>;
      return { bytes, type, across };
    });
  files.set(media, made);
  return made;
}
