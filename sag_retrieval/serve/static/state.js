/** The state of the page is the part of its address behind `#`: each state has a link, and Back works. */
export const state = () => new URLSearchParams(location.hash.slice(1));

/** The address of the state with some values changed; null, "" and [] take a value away. */
export function link(changes, from = state()) {
  for (const [name, value] of Object.entries(changes)) {
    from.delete(name);
    for (const each of [value ?? ""].flat()) if (each !== "") from.append(name, each);
  }
  return `#${from}`;
}

/** The address of a place in a document. */
export const place = (at) => link({ doc: at.document_id, start: at.start, end: at.end });

/** What restricts a search, by name in the address: the condition of `where` that it stands for. */
const CONDITIONS = { language: "language", folder: "document_id__startswith", document: "document_id",
  from: "date__gte", until: "date__lte" };
export const FILTERS = [...Object.keys(CONDITIONS), "as_of", "key"];

/** A key in the address, `type:value`, as its two parts. */
export function parts(key) {
  const colon = key.indexOf(":");
  return [key.slice(0, colon), key.slice(colon + 1)];
}

/** The restriction of a state as the server reads it. */
export function restriction(at = state()) {
  const where = {};
  for (const [name, field] of Object.entries(CONDITIONS)) if (at.get(name)) where[field] = at.get(name);
  for (const key of at.getAll("key")) {
    const [type, value] = parts(key);
    where[`key.${type}`] = value;
  }
  return { where: Object.keys(where).length ? where : null, as_of: at.get("as_of") || null };
}

/** The filters of an address with one key more; a type has one value. */
export function withKey(type, value) {
  const others = state().getAll("key").filter((each) => parts(each)[0] !== type);
  return link({ key: [...others, `${type}:${value}`], view: null });
}
