{
  global:
    GetPjrtApi;
  local:
    *;
};
